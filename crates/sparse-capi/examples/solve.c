/* A x = b on the CPU: A is assembled in coordinates, kept in SELL, multiplied with one and two vectors, and solved.
 *
 *   cargo build --release -p sparse-capi
 *   cc -std=c11 -Icrates/sparse-capi/include crates/sparse-capi/examples/solve.c \
 *      -Ltarget/release -Wl,-rpath,target/release -lnnz_capi -o solve && ./solve
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

int main(void) {
  /* The entries of |  2 -1  0 |
   *                | -1  2 -1 |    in any order; the two in the middle are added.
   *                |  0 -1  2 | */
  const int64_t rows[] = {0, 1, 2, 0, 1, 1, 2, 1}, cols[] = {0, 1, 2, 1, 0, 2, 1, 1};
  const double values[] = {2, 1, 2, -1, -1, -1, -1, 1};
  const nnz_coo entries = {NNZ_F64, NNZ_I64, 3, 3, 8, rows, cols, values};
  nnz_device *cpu = NULL;
  nnz_matrix *coo = NULL, *a = NULL;
  check(nnz_open_cpu(0, &cpu), "nnz_open_cpu");
  check(nnz_copy_coo(cpu, &entries, &coo), "nnz_copy_coo");
  check(nnz_convert(coo, NNZ_SELL, &a), "nnz_convert");
  nnz_release(coo);

  nnz_info info;
  check(nnz_describe(a, &info), "nnz_describe");
  printf("%zu x %zu, %zu entries\n", info.rows, info.cols, info.nnz);

  const double ones[] = {1, 1, 1}, two[] = {1, 0, 0, 1, 0, 0}; /* 3 x 2, by rows */
  double b[3], c[6];
  check(nnz_spmv(a, 1.0, ones, 0.0, b), "nnz_spmv");
  printf("b = %g %g %g\n", b[0], b[1], b[2]);
  const nnz_complex half = {0.5, 0.0}, zero = {0.0, 0.0};
  check(nnz_spmm_op(a, NNZ_TRANSPOSE, 2, half, two, 2, zero, c, 2), "nnz_spmm_op");
  printf("C = %g %g, %g %g, %g %g\n", c[0], c[1], c[2], c[3], c[4], c[5]);

  double x[3] = {0};
  nnz_solution solution;
  const nnz_solve_options options = {.method = NNZ_CG, .preconditioner = NNZ_JACOBI, .tolerance = 1e-12};
  check(nnz_solve(a, &options, b, x, &solution), "nnz_solve");
  printf("%s: x = %.6f %.6f %.6f\n", solution.converged ? "converged" : "not converged", x[0], x[1], x[2]);

  nnz_release(a);
  nnz_close(cpu);
  return EXIT_SUCCESS;
}
