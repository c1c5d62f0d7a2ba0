from relex.dialects.relex.all_operators import OPERATORS as OPERATORS
from relex.dialects.relex.assertion import AssertOp as AssertOp
from relex.dialects.relex.bits import BitwiseAndOp as BitwiseAndOp
from relex.dialects.relex.bits import BitwiseNotOp as BitwiseNotOp
from relex.dialects.relex.bits import BitwiseOrOp as BitwiseOrOp
from relex.dialects.relex.bits import BitwiseXorOp as BitwiseXorOp
from relex.dialects.relex.bits import IsfiniteOp as IsfiniteOp
from relex.dialects.relex.bits import IsinfOp as IsinfOp
from relex.dialects.relex.bits import IsnanOp as IsnanOp
from relex.dialects.relex.bits import LeftShiftOp as LeftShiftOp
from relex.dialects.relex.bits import LogicalAndOp as LogicalAndOp
from relex.dialects.relex.bits import LogicalNotOp as LogicalNotOp
from relex.dialects.relex.bits import LogicalOrOp as LogicalOrOp
from relex.dialects.relex.bits import LogicalXorOp as LogicalXorOp
from relex.dialects.relex.bits import RightShiftOp as RightShiftOp
from relex.dialects.relex.block_panels import UnpackNumbersOp as UnpackNumbersOp
from relex.dialects.relex.block_panels import UnpackPairsOp as UnpackPairsOp
from relex.dialects.relex.block_panels import UnpackScalesOp as UnpackScalesOp
from relex.dialects.relex.block_quantized import DenseBlockRowsOp as DenseBlockRowsOp
from relex.dialects.relex.block_quantized import DenseBlocksOp as DenseBlocksOp
from relex.dialects.relex.block_quantized import DequantizeBlocksOp as DequantizeBlocksOp
from relex.dialects.relex.block_words import BlockDigitsOp as BlockDigitsOp
from relex.dialects.relex.block_words import BlockScalesOp as BlockScalesOp
from relex.dialects.relex.block_words import DenseWordsOp as DenseWordsOp
from relex.dialects.relex.block_words import RoundBlocksOp as RoundBlocksOp
from relex.dialects.relex.blocked_convolution import BlockedConvolution as BlockedConvolution
from relex.dialects.relex.blocked_convolution import Conv2dBlockedOp as Conv2dBlockedOp
from relex.dialects.relex.calls import PRIMITIVE_ATTR as PRIMITIVE_ATTR
from relex.dialects.relex.calls import CallDpsPackedOp as CallDpsPackedOp
from relex.dialects.relex.calls import CallOp as CallOp
from relex.dialects.relex.calls import CallTirOp as CallTirOp
from relex.dialects.relex.comparison import Comparison as Comparison
from relex.dialects.relex.comparison import EqualOp as EqualOp
from relex.dialects.relex.comparison import GreaterEqualOp as GreaterEqualOp
from relex.dialects.relex.comparison import GreaterOp as GreaterOp
from relex.dialects.relex.comparison import LessEqualOp as LessEqualOp
from relex.dialects.relex.comparison import LessOp as LessOp
from relex.dialects.relex.comparison import NotEqualOp as NotEqualOp
from relex.dialects.relex.comparison import WhereOp as WhereOp
from relex.dialects.relex.convolution import Convolution as Convolution
from relex.dialects.relex.convolution import TransposedConvolution as TransposedConvolution
from relex.dialects.relex.creation import IotaOp as IotaOp
from relex.dialects.relex.data_sizes import ArangeOp as ArangeOp
from relex.dialects.relex.data_sizes import AsSizesOp as AsSizesOp
from relex.dialects.relex.data_sizes import CompressOp as CompressOp
from relex.dialects.relex.data_sizes import DynamicStridedSliceOp as DynamicStridedSliceOp
from relex.dialects.relex.data_sizes import NonMaxSuppressionOp as NonMaxSuppressionOp
from relex.dialects.relex.data_sizes import NonzeroOp as NonzeroOp
from relex.dialects.relex.data_sizes import RepeatOp as RepeatOp
from relex.dialects.relex.data_sizes import UniqueOp as UniqueOp
from relex.dialects.relex.dialect import Relex as Relex
from relex.dialects.relex.division import FloorDivideOp as FloorDivideOp
from relex.dialects.relex.division import FloorModOp as FloorModOp
from relex.dialects.relex.division import ModOp as ModOp
from relex.dialects.relex.division import TruncDivideOp as TruncDivideOp
from relex.dialects.relex.elementwise import AddOp as AddOp
from relex.dialects.relex.elementwise import BinaryElementwise as BinaryElementwise
from relex.dialects.relex.elementwise import BinaryFunction as BinaryFunction
from relex.dialects.relex.elementwise import DivideOp as DivideOp
from relex.dialects.relex.elementwise import Elementwise as Elementwise
from relex.dialects.relex.elementwise import EwiseFMAOp as EwiseFMAOp
from relex.dialects.relex.elementwise import Formula as Formula
from relex.dialects.relex.elementwise import MaximumOp as MaximumOp
from relex.dialects.relex.elementwise import MinimumOp as MinimumOp
from relex.dialects.relex.elementwise import MultiplyOp as MultiplyOp
from relex.dialects.relex.elementwise import PowerOp as PowerOp
from relex.dialects.relex.elementwise import ReluOp as ReluOp
from relex.dialects.relex.elementwise import SubtractOp as SubtractOp
from relex.dialects.relex.elementwise import UnaryElementwise as UnaryElementwise
from relex.dialects.relex.elementwise import UnaryFunction as UnaryFunction
from relex.dialects.relex.gathering import GatherElementsOp as GatherElementsOp
from relex.dialects.relex.gathering import GatherNdOp as GatherNdOp
from relex.dialects.relex.gathering import Scatter as Scatter
from relex.dialects.relex.gathering import ScatterElementsOp as ScatterElementsOp
from relex.dialects.relex.gathering import ScatterNdOp as ScatterNdOp
from relex.dialects.relex.linear import DenseOp as DenseOp
from relex.dialects.relex.linear import MatmulOp as MatmulOp
from relex.dialects.relex.look_up import LookUpOp as LookUpOp
from relex.dialects.relex.match_sizes import MatchSizesOp as MatchSizesOp
from relex.dialects.relex.normalization import BatchNormOp as BatchNormOp
from relex.dialects.relex.normalization import LayerNormOp as LayerNormOp
from relex.dialects.relex.normalization import LogSoftmaxOp as LogSoftmaxOp
from relex.dialects.relex.normalization import SoftmaxOp as SoftmaxOp
from relex.dialects.relex.operator import Exactness as Exactness
from relex.dialects.relex.operator import Operator as Operator
from relex.dialects.relex.operator import SeveralResults as SeveralResults
from relex.dialects.relex.packed import Conv2dBlockedPackedOp as Conv2dBlockedPackedOp
from relex.dialects.relex.packed import Conv2dBlockedPairsOp as Conv2dBlockedPairsOp
from relex.dialects.relex.packed import Conv2dBlockedShortsOp as Conv2dBlockedShortsOp
from relex.dialects.relex.packed import MatmulPackedOp as MatmulPackedOp
from relex.dialects.relex.packed import MatmulPairsOp as MatmulPairsOp
from relex.dialects.relex.packed import MatmulShortsOp as MatmulShortsOp
from relex.dialects.relex.packed import PackBytesOp as PackBytesOp
from relex.dialects.relex.packed import PackedConvolution as PackedConvolution
from relex.dialects.relex.pooling import AvgPool as AvgPool
from relex.dialects.relex.pooling import MaxPool as MaxPool
from relex.dialects.relex.pooling import MaxPoolWithIndices as MaxPoolWithIndices
from relex.dialects.relex.pooling import Pool as Pool
from relex.dialects.relex.random_numbers import RandomBernoulliOp as RandomBernoulliOp
from relex.dialects.relex.random_numbers import RandomBitsOp as RandomBitsOp
from relex.dialects.relex.random_numbers import RandomCategoricalOp as RandomCategoricalOp
from relex.dialects.relex.random_numbers import RandomNormalOp as RandomNormalOp
from relex.dialects.relex.random_numbers import RandomUniformOp as RandomUniformOp
from relex.dialects.relex.reductions import ArgExtreme as ArgExtreme
from relex.dialects.relex.reductions import ArgmaxOp as ArgmaxOp
from relex.dialects.relex.reductions import ArgminOp as ArgminOp
from relex.dialects.relex.reductions import MaxOp as MaxOp
from relex.dialects.relex.reductions import MeanOp as MeanOp
from relex.dialects.relex.reductions import MinOp as MinOp
from relex.dialects.relex.reductions import ProdOp as ProdOp
from relex.dialects.relex.reductions import Reduction as Reduction
from relex.dialects.relex.reductions import SumOp as SumOp
from relex.dialects.relex.rounding import CeilOp as CeilOp
from relex.dialects.relex.rounding import FloorOp as FloorOp
from relex.dialects.relex.rounding import RoundOp as RoundOp
from relex.dialects.relex.rounding import SignOp as SignOp
from relex.dialects.relex.rounding import TruncOp as TruncOp
from relex.dialects.relex.scans import ArgsortOp as ArgsortOp
from relex.dialects.relex.scans import CumprodOp as CumprodOp
from relex.dialects.relex.scans import CumsumOp as CumsumOp
from relex.dialects.relex.scans import Scan as Scan
from relex.dialects.relex.scans import Sorting as Sorting
from relex.dialects.relex.scans import SortOp as SortOp
from relex.dialects.relex.shape import BroadcastToOp as BroadcastToOp
from relex.dialects.relex.shape import ExpandDimsOp as ExpandDimsOp
from relex.dialects.relex.shape import PermuteDimsOp as PermuteDimsOp
from relex.dialects.relex.shape import ReshapeOp as ReshapeOp
from relex.dialects.relex.shape import SqueezeOp as SqueezeOp
from relex.dialects.relex.slicing import ConcatOp as ConcatOp
from relex.dialects.relex.slicing import PadOp as PadOp
from relex.dialects.relex.slicing import StridedSliceOp as StridedSliceOp
from relex.dialects.relex.slicing import TakeOp as TakeOp
from relex.dialects.relex.sliding_windows import SlidingWindows as SlidingWindows
from relex.dialects.relex.sliding_windows import Windows as Windows
from relex.dialects.relex.structure import DataflowOp as DataflowOp
from relex.dialects.relex.structure import OutputOp as OutputOp
from relex.dialects.relex.tensor_ops import AllocTensorOp as AllocTensorOp
from relex.dialects.relex.tensor_ops import ConstantOp as ConstantOp
from relex.dialects.relex.tensor_ops import array_of as array_of
from relex.dialects.relex.trigonometry import AcoshOp as AcoshOp
from relex.dialects.relex.trigonometry import AcosOp as AcosOp
from relex.dialects.relex.trigonometry import AsinhOp as AsinhOp
from relex.dialects.relex.trigonometry import AsinOp as AsinOp
from relex.dialects.relex.trigonometry import AtanhOp as AtanhOp
from relex.dialects.relex.trigonometry import AtanOp as AtanOp
from relex.dialects.relex.trigonometry import CoshOp as CoshOp
from relex.dialects.relex.trigonometry import CosOp as CosOp
from relex.dialects.relex.trigonometry import SinhOp as SinhOp
from relex.dialects.relex.trigonometry import SinOp as SinOp
from relex.dialects.relex.trigonometry import TanOp as TanOp
from relex.dialects.relex.types import rank_of as rank_of
from relex.dialects.relex.types import shape_of as shape_of
from relex.dialects.relex.unary import AbsOp as AbsOp
from relex.dialects.relex.unary import AstypeOp as AstypeOp
from relex.dialects.relex.unary import BitcastOp as BitcastOp
from relex.dialects.relex.unary import ClipOp as ClipOp
from relex.dialects.relex.unary import ErfOp as ErfOp
from relex.dialects.relex.unary import Exp2Op as Exp2Op
from relex.dialects.relex.unary import Expm1Op as Expm1Op
from relex.dialects.relex.unary import ExpOp as ExpOp
from relex.dialects.relex.unary import GeluOp as GeluOp
from relex.dialects.relex.unary import Log1pOp as Log1pOp
from relex.dialects.relex.unary import Log2Op as Log2Op
from relex.dialects.relex.unary import Log10Op as Log10Op
from relex.dialects.relex.unary import LogOp as LogOp
from relex.dialects.relex.unary import NegativeOp as NegativeOp
from relex.dialects.relex.unary import RsqrtOp as RsqrtOp
from relex.dialects.relex.unary import SigmoidOp as SigmoidOp
from relex.dialects.relex.unary import SiluOp as SiluOp
from relex.dialects.relex.unary import SqrtOp as SqrtOp
from relex.dialects.relex.unary import TanhOp as TanhOp
from relex.dialects.relex.winograd import WinogradInputTransformOp as WinogradInputTransformOp
from relex.dialects.relex.winograd import WinogradOutputTransformOp as WinogradOutputTransformOp

class Conv1dOp(Convolution): ...
class Conv2dOp(Convolution): ...
class Conv3dOp(Convolution): ...
class Conv1dTransposeOp(TransposedConvolution): ...
class Conv2dTransposeOp(TransposedConvolution): ...
class Conv3dTransposeOp(TransposedConvolution): ...
class Conv1dPackedOp(PackedConvolution): ...
class Conv2dPackedOp(PackedConvolution): ...
class Conv3dPackedOp(PackedConvolution): ...
class MaxPool1dOp(MaxPool): ...
class MaxPool2dOp(MaxPool): ...
class MaxPool3dOp(MaxPool): ...
class MaxPool1dWithIndicesOp(MaxPoolWithIndices): ...
class MaxPool2dWithIndicesOp(MaxPoolWithIndices): ...
class MaxPool3dWithIndicesOp(MaxPoolWithIndices): ...
class AvgPool1dOp(AvgPool): ...
class AvgPool2dOp(AvgPool): ...
class AvgPool3dOp(AvgPool): ...
