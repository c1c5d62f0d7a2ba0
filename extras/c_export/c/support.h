/* The same in all headers of this kind. */
#ifndef RELEX_C_INTERFACE
#define RELEX_C_INTERFACE

enum {
  RELEX_OK = 0,
  RELEX_WRONG_SIZES = 1,   /* The sizes do not fit each other. */
  RELEX_TOO_LARGE = 2,     /* A size, or a number on the way to one, is too large. */
  RELEX_OUT_OF_MEMORY = 3, /* Temporaries cannot be allocated. */
  RELEX_FAILED = 16        /* From here on: an assertion of the program, which has a message. */
};

#define RELEX_MAX_SIZE (INT64_C(1) << 57)

/* Arithmetic on sizes; a result that 64 bits cannot hold makes `*wrong` RELEX_TOO_LARGE. */
static inline int64_t relex_add(int *wrong, int64_t a, int64_t b) {
  if ((b > 0 && a > INT64_MAX - b) || (b < 0 && a < INT64_MIN - b)) {
    *wrong = RELEX_TOO_LARGE;
    return 0;
  }
  return a + b;
}

static inline int64_t relex_multiply(int *wrong, int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
  uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  if (x != 0 && y > (uint64_t)INT64_MAX / x) {
    *wrong = RELEX_TOO_LARGE;
    return 0;
  }
  return a * b;
}

/* Rounded down; the divisor is positive. */
static inline int64_t relex_divide(int64_t a, int64_t divisor) {
  return a / divisor - (a % divisor < 0);
}

static inline int64_t relex_remainder(int64_t a, int64_t divisor) {
  int64_t rest = a % divisor;
  return rest < 0 ? rest + divisor : rest;
}

static inline int64_t relex_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t relex_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* How large an array is. */
static inline int64_t relex_bytes(int *wrong, int64_t item, int rank, const int64_t *shape) {
  int64_t count = 1;
  int is_empty = 0;
  int i;
  for (i = 0; i < rank; ++i) {
    if (shape[i] < 0) {
      *wrong = RELEX_WRONG_SIZES;
      return 0;
    }
    if (shape[i] == 0) {
      is_empty = 1;
    } else if (count > RELEX_MAX_SIZE / shape[i]) {
      *wrong = RELEX_TOO_LARGE;
      return 0;
    } else {
      count *= shape[i];
    }
  }
  return is_empty ? 0 : count * item;
}

/* Whether there is that much memory. */
static inline int relex_has_memory(int64_t bytes) {
  /* Compilers take it that there is always memory for what nobody uses. */
  void *volatile space;
  if ((int64_t)(size_t)bytes != bytes) {
    return 0;
  }
  space = malloc((size_t)bytes);
  free(space);
  return space != NULL || bytes == 0;
}

/* A function that gives memory for a result whose size only the call finds out: `bytes` of it, aligned as malloc does,
 * for the result of this number, of this shape. Returns NULL if there is none, which ends the call. */
typedef void *(*relex_allocate)(void *context, int result, const int64_t *shape, int64_t bytes);

/* A result whose size only the call finds out. */
typedef struct {
  int number, rank;
  int64_t item, *shape;
  void *data;
} relex_late;

/* What a call needs to ask for the memory of such results. */
typedef struct {
  relex_allocate allocate;
  void *context;
  int count;
  relex_late *results;
} relex_caller;

static inline void *relex_new_result(void *context, int64_t number, const int64_t *sizes) {
  relex_caller *caller = (relex_caller *)context;
  int i, wrong = RELEX_OK;
  for (i = 0; i < caller->count; ++i) {
    relex_late *late = caller->results + i;
    int64_t bytes;
    if (late->number != number) {
      continue;
    }
    bytes = relex_bytes(&wrong, late->item, late->rank, sizes);
    if (wrong || (int64_t)(size_t)bytes != bytes) {
      return NULL;
    }
    memcpy(late->shape, sizes, (size_t)late->rank * sizeof *sizes);
    if (caller->allocate) {
      late->data = caller->allocate(caller->context, (int)number, sizes, bytes);
    } else {
      late->data = malloc(bytes ? (size_t)bytes : 1);
    }
    /* An array without elements may be anywhere. */
    return late->data || bytes ? late->data : caller;
  }
  return NULL;
}

/* Frees results of a call that has failed, unless the caller has given their memory. */
static inline void relex_free_results(relex_caller *caller) {
  int i;
  for (i = 0; i < caller->count && !caller->allocate; ++i) {
    free(caller->results[i].data);
  }
}

/* The arguments of a call, and then its results that are numbers, are in a frame of 64-bit words. */
static inline void relex_put(int64_t *word, const void *value, size_t bytes) {
  *word = 0;
  memcpy(word, value, bytes);
}

/* An array, as MLIR passes it: where it was allocated and where it begins, an offset, its sizes and its strides. */
static inline void relex_put_array(int64_t *words, void *data, int rank, const int64_t *shape) {
  int64_t stride = 1;
  int i;
  relex_put(words, &data, sizeof data);
  relex_put(words + 1, &data, sizeof data);
  words[2] = 0;
  for (i = rank - 1; i >= 0; --i) {
    words[3 + i] = shape[i];
    words[3 + rank + i] = stride;
    stride *= shape[i];
  }
}

#endif
