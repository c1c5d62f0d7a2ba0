// Tiles of AMX in software, for processors without them: each instruction is a function that follows the shapes which
// `ldtilecfg` has read, and stops the process where a processor would raise an exception.

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 8, ROWS = 16, BYTES = 64 };

static _Thread_local struct {
  int is_configured;
  int rows[TILES], bytes[TILES];
  uint8_t data[TILES][ROWS][BYTES];
} state;

static _Atomic long configured, released, products;

// How often tiles were configured and released, and how many products there were.
long soft_tiles_count(int which) { return which == 0 ? configured : which == 1 ? released : products; }

static void expect(int holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "tiles: expected %s\n", what);
  abort();
}

static int tile(int number) {
  expect(state.is_configured, "tiles that are configured");
  expect(number >= 0 && number < TILES && state.rows[number] && state.bytes[number], "a tile that has a shape");
  return number;
}

void soft_ldtilecfg(const uint8_t *config) {
  expect(config[0] == 1 && config[1] == 0, "palette 1, from row 0 on");
  for (int i = 2; i < 16; i++) expect(config[i] == 0, "zeros in reserved bytes");
  for (int i = 32; i < 48; i++) expect(config[i] == 0, "zeros for bytes of rows that tiles of the palette lack");
  for (int i = 56; i < 64; i++) expect(config[i] == 0, "zeros for rows that tiles of the palette lack");
  for (int i = 0; i < TILES; i++) {
    state.bytes[i] = config[16 + 2 * i] | config[17 + 2 * i] << 8;
    state.rows[i] = config[48 + i];
    expect(state.bytes[i] <= BYTES && state.rows[i] <= ROWS, "16 rows of 64 bytes at most");
    expect(!state.bytes[i] == !state.rows[i], "rows and bytes, or none of both");
  }
  memset(state.data, 0, sizeof state.data);
  state.is_configured = 1;
  configured++;
}

void soft_tilerelease(void) {
  memset(&state, 0, sizeof state);
  released++;
}

void soft_tilezero(int8_t number) { memset(state.data[tile(number)], 0, sizeof state.data[0]); }

void soft_tileloadd64(int8_t number, const uint8_t *base, int64_t stride) {
  int t = tile(number);
  memset(state.data[t], 0, sizeof state.data[t]);
  for (int r = 0; r < state.rows[t]; r++) memcpy(state.data[t][r], base + r * stride, state.bytes[t]);
}

void soft_tilestored64(int8_t number, uint8_t *base, int64_t stride) {
  int t = tile(number);
  for (int r = 0; r < state.rows[t]; r++) memcpy(base + r * stride, state.data[t][r], state.bytes[t]);
}

static void check(int c, int a, int b) {
  expect(c != a && a != b && b != c, "three tiles that differ");
  expect(state.rows[tile(c)] == state.rows[tile(a)] && state.bytes[c] == state.bytes[tile(b)], "rows and columns that fit");
  expect(state.bytes[a] == 4 * state.rows[b] && state.bytes[a] % 4 == 0 && state.bytes[b] % 4 == 0, "terms that fit");
  products++;
}

#define BYTE_PRODUCT(NAME, LEFT, RIGHT)                                                                  \
  void NAME(int8_t c, int8_t a, int8_t b) {                                                              \
    check(c, a, b);                                                                                      \
    for (int m = 0; m < state.rows[c]; m++)                                                              \
      for (int n = 0; n < state.bytes[c] / 4; n++) {                                                     \
        uint32_t sum;                                                                                    \
        memcpy(&sum, &state.data[c][m][4 * n], 4);                                                       \
        for (int k = 0; k < state.rows[b]; k++)                                                          \
          for (int i = 0; i < 4; i++)                                                                    \
            sum += (uint32_t)((int32_t)(LEFT)state.data[a][m][4 * k + i] * (RIGHT)state.data[b][k][4 * n + i]); \
        memcpy(&state.data[c][m][4 * n], &sum, 4);                                                       \
      }                                                                                                  \
  }

BYTE_PRODUCT(soft_tdpbssd, int8_t, int8_t)
BYTE_PRODUCT(soft_tdpbsud, int8_t, uint8_t)
BYTE_PRODUCT(soft_tdpbusd, uint8_t, int8_t)
BYTE_PRODUCT(soft_tdpbuud, uint8_t, uint8_t)

static float normal(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }

static float wide(const uint8_t *bytes) {
  uint32_t bits = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 24;
  float x;
  memcpy(&x, &bits, 4);
  return normal(x);
}

void soft_tdpbf16ps(int8_t c, int8_t a, int8_t b) {
  check(c, a, b);
  for (int m = 0; m < state.rows[c]; m++)
    for (int n = 0; n < state.bytes[c] / 4; n++) {
      float old, sums[2] = {0, 0};
      memcpy(&old, &state.data[c][m][4 * n], 4);
      for (int k = 0; k < state.rows[b]; k++)
        for (int i = 0; i < 2; i++) {
          float x = wide(&state.data[a][m][4 * k + 2 * i]), y = wide(&state.data[b][k][4 * n + 2 * i]);
          sums[i] = normal(fmaf(x, y, sums[i]));
        }
      float sum = normal(normal(old) + normal(sums[0] + sums[1]));
      memcpy(&state.data[c][m][4 * n], &sum, 4);
    }
}
