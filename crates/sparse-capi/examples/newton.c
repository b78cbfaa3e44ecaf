/* Newton's method on the CPU for a chain of springs that stiffen: the Jacobian has new values in each step, in the arrays
 * that the solver's matrix borrows.
 *
 *   cargo build --release -p sparse-capi
 *   cc -std=c11 -Icrates/sparse-capi/include crates/sparse-capi/examples/newton.c \
 *      -Ltarget/release -Wl,-rpath,target/release -lnnz_capi -o newton && ./newton
 */
#include <nnz.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 4, ENTRIES = 3 * N - 2 };

/* Ends the program if a call failed, with the library's reason. */
static void check(nnz_status status, const char *call) {
  if (status == NNZ_OK) return;
  fprintf(stderr, "%s failed with status %d: %s\n", call, (int)status, nnz_message());
  exit(EXIT_FAILURE);
}

/* F(u)_i = 2 u_i - u_(i-1) - u_(i+1) + u_i^3 - 1 with u = 0 at both ends: writes -F to `f` and its largest element is the
 * result. Writes the Jacobian's values row by row, in the order of the columns. */
static double assemble(const double *u, double *f, double *values) {
  double largest = 0;
  for (int i = 0, k = 0; i < N; i++) {
    const double left = i > 0 ? u[i - 1] : 0, right = i + 1 < N ? u[i + 1] : 0;
    f[i] = -(2 * u[i] - left - right + u[i] * u[i] * u[i] - 1);
    largest = f[i] > largest ? f[i] : -f[i] > largest ? -f[i] : largest;
    if (i > 0) values[k++] = -1;
    values[k++] = 2 + 3 * u[i] * u[i];
    if (i + 1 < N) values[k++] = -1;
  }
  return largest;
}

int main(void) {
  int32_t offsets[N + 1] = {0}, columns[ENTRIES];
  double values[ENTRIES], u[N] = {0}, f[N];
  for (int i = 0, k = 0; i < N; i++) {
    for (int j = i - 1; j <= i + 1; j++) {
      if (j >= 0 && j < N) columns[k++] = j;
    }
    offsets[i + 1] = k;
  }
  nnz_device *cpu = NULL;
  nnz_matrix *jacobian = NULL;
  nnz_solve_plan *plan = NULL;
  check(nnz_open_cpu(0, &cpu), "nnz_open_cpu");
  assemble(u, f, values);
  const nnz_csr arrays = {NNZ_F64, N, N, ENTRIES, offsets, columns, values};
  check(nnz_borrow_csr(cpu, &arrays, &jacobian), "nnz_borrow_csr");
  const nnz_solve_options options = {.method = NNZ_CG, .preconditioner = NNZ_IC0};
  check(nnz_plan_solve(jacobian, &options, &plan), "nnz_plan_solve");

  int steps = 0;
  for (; assemble(u, f, values) > 1e-12 && steps < 20; steps++) {
    double correction[N] = {0};
    nnz_solution solution;
    check(nnz_update_solve(plan, jacobian), "nnz_update_solve");
    check(nnz_run_solve(plan, f, correction, &solution), "nnz_run_solve");
    for (int i = 0; i < N; i++) u[i] += correction[i];
  }
  printf("%d steps: u = %.6f %.6f %.6f %.6f\n", steps, u[0], u[1], u[2], u[3]);

  nnz_release_solve_plan(plan);
  nnz_release(jacobian);
  nnz_close(cpu);
  return EXIT_SUCCESS;
}
