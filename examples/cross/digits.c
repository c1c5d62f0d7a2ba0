/* Reads images of 8x8 floats from standard input, and prints the digits that they show. */
#include "lenet.h"

#include <stdio.h>

int main(void) {
  float image[64], scores[10];
  int i, best;
  while (fread(image, sizeof image, 1, stdin) == 1) {
    if (lenet_main(image, scores) != RELEX_OK) return 1;
    for (best = 0, i = 1; i < 10; ++i) {
      if (scores[i] > scores[best]) best = i;
    }
    printf("%d", best);
  }
  printf("\n");
  return 0;
}
