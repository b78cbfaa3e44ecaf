/* y = A x on the CPU, with a matrix over this program's own arrays.
 *
 *   cargo build --release -p sparse-capi
 *   cc -std=c11 -Icrates/sparse-capi/include crates/sparse-capi/examples/spmv.c \
 *      -Ltarget/release -Wl,-rpath,target/release -lnnz_capi -o spmv && ./spmv
 */
#include <nnz.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the program if a call failed, with the library's reason. */
static void check(nnz_status status, const char *call) {
  if (status == NNZ_OK) return;
  fprintf(stderr, "%s failed with status %d: %s\n", call, (int)status, nnz_message());
  exit(EXIT_FAILURE);
}

/* Ends the program if a condition does not hold. */
static void expect(int holds, const char *condition) {
  if (holds) return;
  fprintf(stderr, "wrong: %s\n", condition);
  exit(EXIT_FAILURE);
}

int main(void) {
  /*     | 1  0  2 |
   * A = | 0  0  3 |    row i has the entries offsets[i] .. offsets[i + 1]
   *     | 4  5  0 | */
  const int32_t offsets[] = {0, 2, 3, 5};
  const int32_t indices[] = {0, 2, 2, 0, 1};
  const double values[] = {1, 2, 3, 4, 5};
  nnz_csr arrays = {NNZ_F64, 3, 3, 5, offsets, indices, values};
  const double x[] = {1, 10, 100}, expected[] = {201, 300, 54};
  double y[3];

  nnz_device *cpu = NULL;
  nnz_matrix *matrix = NULL;
  check(nnz_open_cpu(0, &cpu), "nnz_open_cpu");
  check(nnz_borrow_csr(cpu, &arrays, &matrix), "nnz_borrow_csr");
  check(nnz_spmv(matrix, 1.0, x, 0.0, y), "nnz_spmv");
  for (size_t row = 0; row < 3; ++row) {
    printf("y[%zu] = %g\n", row, y[row]);
    expect(y[row] == expected[row], "y = A x");
  }

  /* A call that fails returns a status, says why, and leaves its result alone. */
  const int32_t short_offsets[] = {0, 2, 3, 4};
  nnz_matrix *refused = NULL;
  arrays.offsets = short_offsets;
  expect(nnz_borrow_csr(cpu, &arrays, &refused) == NNZ_FORMAT, "these arrays are no matrix");
  expect(refused == NULL, "a call that fails writes nothing");
  printf("refused: %s\n", nnz_message());

  nnz_release(matrix);
  nnz_close(cpu); /* in any order */
  return EXIT_SUCCESS;
}
