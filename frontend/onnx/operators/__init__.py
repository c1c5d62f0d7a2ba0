"""The imports of the standard's operators, one file a family. Importing this package fills the table."""

from relex.frontend.onnx.operators import activations as activations
from relex.frontend.onnx.operators import arithmetic as arithmetic
from relex.frontend.onnx.operators import control as control
from relex.frontend.onnx.operators import indexing as indexing
from relex.frontend.onnx.operators import learning as learning
from relex.frontend.onnx.operators import linear as linear
from relex.frontend.onnx.operators import normalization as normalization
from relex.frontend.onnx.operators import quantization as quantization
from relex.frontend.onnx.operators import recurrent as recurrent
from relex.frontend.onnx.operators import reductions as reductions
from relex.frontend.onnx.operators import refused as refused
from relex.frontend.onnx.operators import resampling as resampling
from relex.frontend.onnx.operators import sampling as sampling
from relex.frontend.onnx.operators import sequences as sequences
from relex.frontend.onnx.operators import shapes as shapes
from relex.frontend.onnx.operators import signals as signals
from relex.frontend.onnx.operators import trees as trees
from relex.frontend.onnx.operators import windows as windows
