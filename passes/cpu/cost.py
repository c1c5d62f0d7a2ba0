"""
Every number of the cost model, with its unit and the reason for its value.

Values that depend on the processor, such as sizes of vector registers and caches, are in its record,
`relex_dialects/target/processors.py`. Unless stated otherwise, numbers were measured on processors with AVX2 and
AVX-512.
"""

from __future__ import annotations

from math import log2

# Sizes that are only known at run time

MANY = 2**40
"""Iterations of a loop whose extent is only known at run time, where few would be the worse case."""

LIKELY_EXTENT = 64
"""Iterations of such a loop, where costs are compared."""

LIKELY_SIZE = 1024
"""Dynamic size of a buffer in elements, for which buffers are packed into an arena, and of a row of results."""

# Which rules apply to a block

MIN_STEPS = 2**10
"""Steps of a reduction; with fewer, no schedule is worth its compile time."""

MIN_TERMS_OF_COLUMNS = 9
"""Terms of a result; LLVM unrolls fewer, and vectorizes the columns itself."""

MIN_COLUMNS_OF_A_STENCIL = 4
"""Columns; fewer do not fill vectors."""

MAX_COLUMNS = 2**16
"""Columns of a row of results; more would not stay in the cache from one term to the next."""

MIN_TERMS_OF_EXTREMES = 16
"""Terms in a row; LLVM does not vectorize fewer."""

TERMS_OF_A_ROW = (4, 512)
"""Least and most terms of rows that are added up: fewer make no vector, and with more, adding up the elements of
vectors at the end of each row does not matter."""

TERMS_OF_A_LONG_ROW = 16
"""Terms of a row from which on LLVM makes vectors of it; it unrolls shorter ones."""

LONG_ROW_TO_COMPARE = 40
"""Least terms of a long row from which the largest or smallest of floats are taken where no instruction minds NaN: LLVM
compares the terms after the last vector of a row one by one. A short row has three quarters of a vector."""

MIN_ROWS_TO_ADD = 8
"""Long rows that are added up to one result."""

MIN_SHORT_ROWS_TO_ADD = 4
"""Short rows that are added up to one result: otherwise all of their terms are added one by one."""

MIN_ELEMENTS_TO_TRANSPOSE = 2**12
"""Elements of a transpose; fewer stay in the cache in any order."""

MIN_SIDE, MAX_SIDE = 4, 16
"""Elements of a side of a tile of a transpose: up to a cache line. Pieces of a loop have as many iterations, too."""

SIDE_OF_A_SQUARE, MIN_BITS_OF_A_ROW = 8, 128
"""Elements of a side of a tile that is transposed in registers, and bits of its rows, which fill registers. Larger ones
take fewer shuffles, but write to more lines and pages at a time."""

MIN_TILES = 3
"""Tiles along a loop that do not fill it: fewer leave much to single elements."""

L1_SIZES_OF_A_STRIP = 0.5
"""Size of the cache lines that a strip of tiles of a transpose reads, in first-level caches: the next strip reads other
elements of these lines."""

L3_SIZES_OF_STRIPS = 8
"""Size of both operands of a transpose, in third-level caches of a core, which cores share, up to which there are
strips; in main memory, long rows are better."""

# Pieces

MIN_ELEMENTS_IN_PIECES = 2**12
"""Elements of a block with conditions; for fewer, more code is not worth it."""

MIN_ELEMENTS_OF_A_PIECE = 2**5
"""Elements that a piece computes in a row, some vectors."""

MAX_ROW_AS_A_VECTOR = 64
"""Elements of a row; LLVM makes vectors of longer ones, but unrolls shorter ones."""

# Dot kernels: vectors of terms

MIN_VECTORS_OF_TERMS = 4
"""Vectors of terms; with fewer, adding up the elements of the vectors at the end costs too much."""

MIN_USES_FOR_TILES = 16
"""Uses of every element of every operand from which on tiles with contiguous columns make up for the packing."""

MAX_STREAMS = 10
"""Operand rows that are read at the same time; the hardware does not prefetch more."""

L1_SIZES_NEARBY = 4
"""Size of an operand, as a multiple of the first-level cache, above which it is read from far away each time."""

COST_FROM_AFAR = 2
"""Cost of loading a vector of such an operand, in multiplications."""

COST_OF_A_MASK = 1.2
"""Cost of a loop with a condition for each term, relative to one without."""

VECTORS_OF_A_SUM = (1, 2, 4, 8)
"""Numbers of vectors that a single result may be accumulated in."""

MAX_SUMS_ALONG_A_LOOP = 8
"""Results of a tile along one loop; more are more code, and not faster."""

# Sums that are scaled

VECTORS_OF_SCALED_SUMS = 2
"""Vectors in a row of a tile of sums that are scaled: their bytes fill half a cache line or all of it."""

REGISTERS_TO_UNPACK = 8
"""Vector registers for unpacking numbers of a few bits, besides the sums."""

UNPACKED_COLUMNS = 4
"""Rows of a weight that are unpacked at the same time, where its bytes are not packed: each is a stream from memory."""

PARTS_OF_L2 = 8
"""The part of the second-level cache for such rows that all rows of data are multiplied with before the next ones."""

MAX_COPIES_OF_UNPACKED = 64
"""Copies of the multiplication of a vector that unrolled loops over the numbers of a group make: shifts and places of
bits are known in each."""

MIN_UNPACKED_LANES = 8
"""Bytes of such a row that become a vector of numbers; fewer leave the loop over all results."""

# Several terms at once

MAX_TERMS_AT_ONCE = 8
"""Rows of a matrix that are read at the same time; the hardware does not prefetch more."""

MAX_USES_AT_ONCE = 8
"""Rows that use each element of a matrix; with more, it pays to pack one that leaves vectors partial."""

FAR_APART = 2**11
"""Bytes between the rows of a matrix from which on it is slow to read only a part of each."""

MIN_COLUMNS_AT_ONCE = 64
"""Columns; with fewer, most of the time would go to the last vector of each row."""

L2_SIZES_FROM_AFAR = 0.5
"""Size of a matrix, as a multiple of the second-level cache, from which on it is read from far away each time."""

# Blocks of rows

L2_SIZES_OF_A_BLOCK = 0.5
"""Size of the data passed from one product to the next in an iteration of the loops around both, as a multiple of the
second-level cache, up to which it stays there, besides the panels that both read again in each iteration."""

MAX_ROWS_OF_A_BLOCK = 64
"""Rows that two products compute at a time; with as many, each element of a panel is used often enough."""

MIN_ROWS_OF_A_BLOCK = 8
"""Rows that two products compute at a time at least; with fewer, tiles are low."""

BUFFERS_OF_A_BLOCK = 4
"""Room for a block of rows, in buffers as large as the largest one: one is read while the next one is written, and half
of the room is for others."""

MIN_STEPS_TO_ALLOCATE = 2**12
"""Steps of an iteration for which a local buffer on the heap is allocated; it takes some 50 nanoseconds."""

# Tiles of vector registers

LATENCY = 8
"""Sums in flight that let an addition start in every half cycle, as each takes four cycles."""

COST_OF_AN_ELEMENT_OF_A_PIECE = 2
"""Cost of loading an element of a row that lies in pieces of a cache line, as channels in blocks do, in loads of which
two start in a cycle, unless vectors are loaded in between: few lines of rows are in the first-level cache before they
are needed."""

COST_OF_L2 = 3
"""Cost of loading a vector from the second-level cache, in loads from the first-level cache."""

L1_SIZES_OF_A_PANEL = 0.5
"""Size of a panel, as a multiple of the first-level cache, up to which it stays there from one tile to the next,
besides the rows."""

L3_SIZES_OF_A_BLOCK = 0.5
"""Size of a block of rows, as a multiple of the third-level cache, that stays there while panels pass by. Each panel
comes from memory once for each block, so that larger blocks are better than those that fit into the second-level
cache."""

L2_SIZES_OF_ALL_ROWS = 0.5
"""Size of all rows, as a multiple of the second-level cache, up to which they stay there without blocks."""

MIN_TILES_IN_A_BLOCK = 4
"""Tiles that use a panel when it has come from memory."""

ENOUGH_BLOCKS = 4
"""Blocks of rows for threads to share."""

MIN_PANELS_FOR_COPIES = 8
"""Panels that use each row; with fewer, copying it costs more than it saves."""

MIN_PANELS_FOR_BLOCKS = 16
"""Panels that use each row; with fewer, it costs as little to read it from memory again for each."""

MAX_COPIED_AT_ONCE = 64
"""Elements of a row that are copied at the same time, some vectors."""

MAX_ROWS = 16
"""Rows of a tile; more are more code, and not faster."""

MAX_VECTORS = 8
"""Vectors in a row of a tile."""

MAX_COPIES = 32
"""Copies of a block that unrolled loops make, the number of vectors in the largest tile; more are more code, and not
faster."""

MAX_COPIES_OF_OVERLAPPING_ROWS = 48
"""The same for rows of results whose windows overlap."""

VECTORS_OF_A_NARROW_TILE = 2
"""Vectors of a tile for columns that wider tiles leave over, if their number is only known at run time."""

LOW_ROWS = (4, 2)
"""Rows of the tiles for the remainder of a number of rows that is only known at run time."""

LOW_ROWS_IN_LOOPS = (4,)
"""The same where other loops repeat the rows, such as the places in a row of an image: there is a remainder in each of
many iterations, which find their code and the operand of the columns in a cache."""

FEW_ROWS = 8
"""Rows up to which a tile may have room for all of them several times."""

MAX_COPIES_OF_TERMS = 48
"""Multiplications of vectors in an iteration of the innermost loop of a tile, when iterations are combined. A core that
runs a second thread issues half as many instructions for each, so that the instructions of the loop itself take time:
with 48 instead of 12, convolutions with AVX2 take up to an eighth less time then, and as long as before if they have
the core to themselves. More take longer to compile."""

MIN_STEPS_FOR_SEVERAL_TERMS = 2**22
"""Steps of a tiled reduction, some 50 microseconds, from which on iterations are combined."""

MIN_LANES = 2
"""Elements of a vector for few columns."""

COST_OF_EDGES = 0.02
"""Cost, relative to the whole, of tiles that are not all alike, or not all stored as a whole."""

COST_OF_ROWS_LEFT_OVER = 0.05
"""Cost, relative to the whole, of tiles for rows that others leave over, if the number of columns is only known at run
time: then there are wide and narrow ones, and all of them take time to compile."""

COST_OF_DYNAMIC_COLUMNS = 1.25
"""Cost of columns whose number is only known at run time, relative to a known number: those that do not fill a tile are
computed under conditions, and a sequence of a few elements has no others."""

MIN_SHARE_OF_PADDING = 1 / 64
"""Share of the terms that are products with padding from which on tiles skip them; for fewer, loops of known bounds are
faster."""

MAX_COPIES_OF_TAPS = 96
"""Multiplications of vectors, at most, of a tile and all taps of a row of a window that are written out: three for each
sum that AVX-512 has registers for. More take longer to compile."""

L2_SIZES_TO_PREFETCH = 1 / 4
"""The size of a constant operand, as a multiple of the second-level cache, from which on tiles prefetch it: functions
that run in between leave little of it there."""

PREFETCHED_BYTES = 2**14
"""The prefetch distance of tiles, in bytes. Memory takes longer than reading 2**12 bytes; 2**15 are no better."""

MIN_ROWS_TO_PREFETCH = 4
"""The height of a tile, in rows, from which on it prefetches: lower ones wait for memory in any case, and have no time
for further instructions."""

COST_OF_EVICTED_ROWS = 1.2
"""Cost of tiles whose rows may be a power of two apart and evict each other from the first-level cache, relative to
the cost of tiles with fewer rows."""

COST_OF_SCATTERED_ROWS = 1.2
"""Cost of tiles whose rows are not contiguous, relative to the cost of contiguous rows: a tile reads a few elements of
many cache lines and pages."""

COST_OF_SCATTERED_TERMS = 4
"""The same for terms of a column that lie far apart: each comes from another page."""

COST_OF_GUARDS = 1.5
"""Cost of tiles of `tir.dot4` with conditions that keep vectors at the edge in bounds, relative to those without: each
word of the other operand is loaded twice, once under the condition, for a single instruction."""

COST_OF_A_SCALAR = 1.5
"""Cost of copying an element, in multiplications."""

COST_OF_A_SCALAR_STORE = 2.5
"""Cost of storing an element of a vector by itself, in multiplications: it is taken out of the vector first, and each
goes to another cache line."""

COST_OF_A_STORE_TO_L2 = 10
"""Cost of such a store if its line has been evicted from the first-level cache: a line of 64 bytes comes and goes, 32
bytes in a cycle."""

MIN_USES_TO_PACK = 8
"""Rows that use an element of an operand; with fewer, packing its columns costs more than it saves."""

MIN_ROWS_TO_PACK_CONTIGUOUS = 64
"""Rows from which on columns are packed that are contiguous already, since vectors that a tile reads lie far apart."""

TILES_TO_PACK_A_PANEL = 4
"""Tiles of rows from which on a panel is packed that is contiguous already, if sizes are only known at run time."""

PANELS_TOGETHER = 4
"""Panels that are packed at the same time, or a divisor of it: they use more of each page that a row of the operand is
on."""

L2_SIZES_OF_PANELS = 0.5
"""Size of panels that are packed at the same time, as a multiple of the second-level cache, up to which they stay there
until all rows have used each."""

MIN_SCATTERED_COLUMNS = 8
"""Columns if the results of a vector must be stored one by one."""

# Blocks of channels

SHARE_OF_ZEROS = 1 / 3
"""Zeros that may fill the last block, relative to the channels."""

COST_OF_SINGLE_VECTORS = 1 / 8
"""Additional cost of blocks of one vector over blocks of two, relative to the total cost."""

COST_OF_UNBLOCKING = 6
"""Cost of bringing an element from blocks of channels into the usual order, in multiplications of vectors: it is read
and written again, at other places, mostly farther away than in the second-level cache."""

# Convolutions in fewer products

BYTES_OF_WEIGHTS = 4
"""Bytes of weights that are read from memory in the time of a multiplication of vectors."""

COST_OF_TRANSFORMS = 14
"""Cost of computing a vector of transformed data, or of products that are transformed into results, with writing and
reading it, in multiplications."""

COST_OF_BLOCKS = 1.5
"""Cost of bringing an element of the data into blocks, or one of the results out of them, in multiplications of
vectors, where no other layer is in blocks."""

# Joined rows of images

L2_SIZES_OF_JOINED_ROWS = 0.5
"""Size of rows of an image that are joined, as a multiple of the second-level cache, up to which they stay there while
all channels of the results are computed."""

# Bands of convolutions

MAX_BANDS = 3
"""Bands of the results of a convolution along a dimension; the taps that they share are stored for each."""

MIN_PRODUCTS_SPARED = 2**22
"""Products that bands must spare, to be worth the copies of data and results."""

# Matrix units

MIN_WORDS_OF_A_TILE = 4
"""Words of a row that are multiplied at a time: an instruction takes as long for fewer words, a cycle for each row."""

MIN_ROWS_OF_PAIRS = 2
"""Rows of a product of pairs of numbers of bf16, in vectors, with a constant."""

MIN_ROWS_OF_PACKED_PAIRS = 16
"""The same where each call packs the other operand: it takes the time of about eight rows, in vectors."""

MIN_ROWS_OF_A_TILE = 4
"""Rows of a product; for fewer, loading the columns takes the time, by tiles as by vectors."""

MIN_ROWS_OF_WIDE_WEIGHTS = 96
"""Rows of a product without tiles from which on a weight of f32 takes no longer than one of bf16, which tiles of rows
widen in registers. With 32, 64, 96 and 128 rows, one of 4096 by 4096 takes 1.1, 1.0, 1.1 and 0.9 times as long in f32
where the third-level cache holds it, and 1.3 times with 64 rows where it does not; one of 1024 by 1024 0.85, 0.85,
0.8 and 0.7 times as long."""

MIN_ROWS_TO_UNPACK_ARGUMENTS = 64
"""Rows of a product with a weight in blocks that is no constant from which on unpacking it in each call takes no more
time than unpacking rows of it in registers for each tile. With 32, 64 and 128 rows, one of 4096 by 4096 takes 0.6 to
1.5, 0.9 to 2.5 and 1.4 to 2.5 times as long without."""

MIN_ROWS_TO_UNPACK_BLOCKS = 16
"""Rows of a product with a weight in blocks from which on unpacking it for tiles takes no more time than multiplying in
vectors, where each tile of rows unpacks it in registers. With 8, 16, 32 and 64 rows, one of 4096 by 4096 takes 1.4,
0.8, 0.5 and 0.3 of that time, and one of 1024 by 1024 as much of it."""

MIN_ROWS_TO_UNPACK_NUMBERS = 32
"""The same without tiles, where the weight becomes f32. With 16, 32 and 64 rows, one of 4096 by 4096 of `Q4_0` takes
1.2, 0.95 and 0.8 of the time, of `Q4_K` 1.0, 0.8 and 0.7, of `Q6_K` 0.8, 0.6 and 0.5; kept to AVX2, one of `Q4_K` takes
0.7, 0.5 and 0.4 of it."""

MAX_TERMS_OF_A_PANEL = 2**12
"""Terms of a product whose weight is unpacked to f32: a panel of 32 columns has 512 KB then. With 14336 terms at once,
one of 64 rows takes 1.3 times as long."""

LATENCY_OF_TILES = 52
"""Cycles until the sums of an instruction can be added to."""

LOW_ROWS_OF_TILES = (16, 4, 1)
"""Rows of the tiles for the remainder of a number of rows that is only known at run time."""

MIN_COLUMNS_OF_A_TILE = 9
"""Columns of a product; fewer would leave half of each tile idle."""

MAX_WORDS_AT_ONCE = 2**11
"""Words of a sum that are added up at once, so that half of the second-level cache, of 2 MB on all processors with
tiles, holds the rows of `MIN_TILES_IN_A_BLOCK` tiles."""

MIN_STEPS_IN_TILES = 2**13
"""Steps of a product in words. Setting the shapes of tiles and releasing them takes some 200 cycles, the time of that
many steps in vectors of 16 words."""

# Threads

PER_CYCLE = 2
"""Vectors that a core loads, or computes with, in a cycle."""

CYCLES_OF_A_FUNCTION = 10
"""Cycles for a vector of results of a function such as exp."""

BYTES_PER_CYCLE = 16
"""Bytes that a core reads or writes in a cycle, from the second-level cache or farther away."""

MIN_CYCLES_TO_SHARE = 2**13
"""Cycles, some 3 microseconds, from which on a loop may be shared: whether it is, is decided when it runs, by its time
and by whether other threads are awake. The decision takes 0.1 microseconds; short rows take more cycles than this."""

ENOUGH_PARTS = 16
"""Iterations that keep threads busy until the end; if no loop has as many, the longest one is best."""

PARTS_TO_SHARE = 64
"""Iterations that are divided evenly enough among sixteen threads. Loops that have fewer are shared together with those
in them."""

MIN_CYCLES_OF_A_PART = 100
"""Cycles of an iteration of loops that are shared together: what LLVM does with loops that it knows the range of is
worth more in shorter ones."""

MIN_SHARES_INSIDE = 8
"""Cycles of a nest from which on it is shared in each iteration of loops around it, in multiples of
`MIN_CYCLES_TO_SHARE`."""

MIN_SHARES_INSIDE_DYNAMIC = 32
"""The same, if it is only known at run time how many iterations these loops have: they may be many."""

FEW_PARTS = 8
"""Iterations that keep two threads busy most of the time; reductions with as many are not split."""

MIN_CYCLES_TO_SPLIT = 2**17
"""Cycles, some 40 microseconds, of a reduction that is split into partial results for threads."""

MAX_PARTS = 64
"""Partial results of a reduction; to combine more takes longer."""

# Memory and code

MAX_BUFFER_ON_STACK = 4096
"""Bytes of a local buffer; larger ones are allocated on the heap."""

MAX_ARENA_ON_STACK = 16 * 1024
"""Bytes of an arena; larger ones, and arenas of dynamic size, are allocated on the heap."""

MAX_MAXIMA_OF_AN_OFFSET = 8
"""Maxima in the expression of an offset in an arena; each takes two instructions at the start of a run. For one with
more, some memory is left free."""

MAX_STEPS_TO_INLINE = 512
"""Steps of a loop function that LLVM may inline into its callers, of which a call takes some nanoseconds. Larger ones
gain nothing, and copies of them in callers with hundreds of calls take most of the time of a compilation."""

MAX_VECTOR_LENGTH = 256
"""Elements of a vector that a loop becomes; longer ones would be unrolled code."""

FOLDED_BYTES_ALLOWED = 2**20
"""Bytes by which the constants of a module may always grow when operators are folded."""

COMPUTED_WEIGHTS_BYTES = 2**22
"""Size of weights that are folded though the constants that they are computed from are much smaller."""

COMPUTED_WEIGHTS_ALLOWED = 2**24
"""Bytes of all such weights together."""

COMPUTED_WEIGHTS_FACTOR = 64
"""How much larger than those constants they are; weights of few bits become up to 32 times as large."""

MAX_PACKED_GROWTH = 4
"""Size of all packed copies of a constant together, relative to the constant."""

PACKED_BYTES_ALLOWED = 2**16
"""Bytes of packed copies that are always allowed: padding at the edges may multiply a small constant."""


def of_a_square(lanes: int) -> float:
    """Return the cost of copying an element, in multiplications, where squares of as many elements as a vector has on
    each side are transposed: each vector is loaded, shuffled as often as its length is divided by 2, and stored."""
    return (2 + log2(lanes)) / lanes
