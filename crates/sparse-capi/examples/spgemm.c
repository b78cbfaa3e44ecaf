/* C = A A on the CPU, twice: the pattern of C is found once, and its values for other values of A.
 *
 *   cargo build --release -p sparse-capi
 *   cc -std=c11 -Icrates/sparse-capi/include crates/sparse-capi/examples/spgemm.c \
 *      -Ltarget/release -Wl,-rpath,target/release -lnnz_capi -o spgemm && ./spgemm
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

/* Prints A A by a plan, for the values that A has now. */
static void print_square(const nnz_spgemm_plan *plan, const nnz_matrix *a) {
  nnz_matrix *product = NULL;
  nnz_csr c;
  check(nnz_run_spgemm(plan, a, a, &product), "nnz_run_spgemm");
  check(nnz_arrays(product, &c), "nnz_arrays");
  for (size_t row = 0; row < c.rows; ++row)
    for (int32_t k = c.offsets[row]; k < c.offsets[row + 1]; ++k)
      printf("C[%zu][%d] = %g\n", row, (int)c.indices[k], ((const double *)c.values)[k]);
  nnz_release(product);
}

int main(void) {
  /* A = | 1  2 |
   *     | 0  3 | */
  const int32_t offsets[] = {0, 2, 3};
  const int32_t indices[] = {0, 1, 1};
  double values[] = {1, 2, 3};
  const nnz_csr arrays = {NNZ_F64, 2, 2, 3, offsets, indices, values};

  nnz_device *cpu = NULL;
  nnz_matrix *a = NULL;
  nnz_spgemm_plan *plan = NULL;
  check(nnz_open_cpu(0, &cpu), "nnz_open_cpu");
  check(nnz_borrow_csr(cpu, &arrays, &a), "nnz_borrow_csr");
  check(nnz_plan_spgemm(a, a, &plan), "nnz_plan_spgemm");
  print_square(plan, a);
  values[2] = -1; /* the pattern stays, and the plan with it */
  print_square(plan, a);

  nnz_release_spgemm_plan(plan);
  nnz_release(a);
  nnz_close(cpu);
  return EXIT_SUCCESS;
}
