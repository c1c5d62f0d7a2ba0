"""The imports of ATen's operators, one file a family. Importing this package fills the table."""

from relex.frontend.torch.operators import arithmetic as arithmetic
from relex.frontend.torch.operators import creation as creation
from relex.frontend.torch.operators import functions as functions
from relex.frontend.torch.operators import indexing as indexing
from relex.frontend.torch.operators import linear as linear
from relex.frontend.torch.operators import normalization as normalization
from relex.frontend.torch.operators import reductions as reductions
from relex.frontend.torch.operators import resampling as resampling
from relex.frontend.torch.operators import shapes as shapes
from relex.frontend.torch.operators import sizes as sizes
from relex.frontend.torch.operators import windows as windows
