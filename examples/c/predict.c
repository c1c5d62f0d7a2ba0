/* Classes of some points, for as many as there are. */
#include "model.h"

#include <stdio.h>

int main(void) {
  const float points[] = {1, 0, 0, 2, -1, -1, 3, 1};
  const int64_t n = sizeof points / sizeof *points / 2;
  model_predict_arrays arrays;
  float *result;
  int64_t i;
  int status = model_predict_check(n, &arrays);
  if (status != RELEX_OK) return status;
  result = (float *)malloc((size_t)arrays.result.bytes);
  if (result == NULL) return RELEX_OUT_OF_MEMORY;
  status = model_predict(n, points, result);
  for (i = 0; status == RELEX_OK && i < n; ++i) {
    const float *row = result + 3 * i;
    printf("(%g, %g): %.3f %.3f %.3f\n", points[2 * i], points[2 * i + 1], row[0], row[1], row[2]);
  }
  free(result);
  return status;
}
