// The same as predict.c, with vectors and exceptions.
#include "model.h"

#include <cstdio>
#include <new>
#include <stdexcept>
#include <vector>

static std::vector<float> predict(const std::vector<float> &points) {
  const auto n = static_cast<int64_t>(points.size() / 2);
  model_predict_arrays arrays;
  if (model_predict_check(n, &arrays) != RELEX_OK) throw std::length_error("no points that can be classified");
  std::vector<float> result(static_cast<std::size_t>(arrays.result.bytes) / sizeof(float));
  if (model_predict(n, points.data(), result.data()) != RELEX_OK) throw std::bad_alloc();
  return result;
}

int main() {
  const std::vector<float> points{1, 0, 0, 2, -1, -1, 3, 1};
  const auto result = predict(points);
  for (std::size_t i = 0; i < points.size() / 2; ++i) {
    const float *row = &result[3 * i];
    std::printf("(%g, %g): %.3f %.3f %.3f\n", points[2 * i], points[2 * i + 1], row[0], row[1], row[2]);
  }
}
