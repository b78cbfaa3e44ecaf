// A SYCL program that multiplies, compresses and solves on its own queue, in its own memory, and checks every number.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nnz.h>
#include <stdexcept>
#include <sycl/sycl.hpp>
#include <vector>

namespace {

constexpr std::size_t rows = 1000, cols = 800, columns = 5, step = 8, order = 64;

void expect(bool holds, const char *what) {
  if (holds) return;
  std::fprintf(stderr, "%s does not hold; the last message is: %s\n", what, nnz_message());
  std::exit(1);
}

void expect_refusal(nnz_status found, nnz_status expected, const char *part) {
  expect(found == expected && std::strstr(nnz_message(), part) != nullptr, part);
}

// Row i of A has the entries i % 7 + 1 in columns i % cols and (i + 13) % cols.
double entry(std::size_t row) { return static_cast<double>(row % 7 + 1); }
double x_at(std::size_t place) { return static_cast<double>(place % 5); }
double product(std::size_t row) { return entry(row) * (x_at(row % cols) + x_at((row + 13) % cols)); }

template <typename T>
T *on_device(sycl::queue &queue, const std::vector<T> &host) {
  T *device = sycl::malloc_device<T>(host.size() + 16 / sizeof(T), queue);
  queue.memcpy(device, host.data(), host.size() * sizeof(T));
  queue.wait_and_throw();
  return device;
}

template <typename T>
std::vector<T> on_host(sycl::queue &queue, const void *device, std::size_t size) {
  std::vector<T> host(size);
  queue.memcpy(host.data(), device, size * sizeof(T)).wait_and_throw();
  return host;
}

// A queue's handler that hands the first error on to whoever waits.
void rethrow(const sycl::exception_list &errors) {
  if (errors.size() > 0) std::rethrow_exception(*errors.begin());
}

} // namespace

int main() {
  const sycl::device where{sycl::default_selector_v};
  const sycl::context context{where};
  sycl::queue queue{context, where, rethrow, sycl::property::queue::in_order{}};
  nnz_device *device = nullptr;
  expect(nnz_open(&queue, &device) == NNZ_OK, "the queue opens");

  // The dense matrix, its entries by rows, and B, whose every column is x.
  std::vector<double> dense(rows * cols), x(cols), b(cols * step);
  for (std::size_t row = 0; row < rows; ++row) {
    dense[row * cols + row % cols] = dense[row * cols + (row + 13) % cols] = entry(row);
  }
  for (std::size_t place = 0; place < cols; ++place) {
    x[place] = x_at(place);
    for (std::size_t column = 0; column < columns; ++column) b[place * step + column] = x_at(place);
  }

  double *dense_there = on_device(queue, dense);
  nnz_matrix *compressed = nullptr;
  expect(nnz_dense_to_csr(device, NNZ_F64, rows, cols, dense_there, cols, &compressed) == NNZ_OK, "dense to CSR");
  nnz_csr csr{};
  expect(nnz_arrays(compressed, &csr) == NNZ_OK && csr.nnz == 2 * rows, "two entries a row");
  const auto offsets = on_host<std::int32_t>(queue, csr.offsets, rows + 1);
  const auto indices = on_host<std::int32_t>(queue, csr.indices, csr.nnz);
  const auto values = on_host<double>(queue, csr.values, csr.nnz);
  for (std::size_t row = 0; row < rows; ++row) {
    expect(offsets[row] == static_cast<int>(2 * row), "offsets");
    for (std::size_t place = 2 * row; place < 2 * row + 2; ++place) {
      expect(values[place] == dense[row * cols + static_cast<std::size_t>(indices[place])], "values");
    }
  }

  // Products of a matrix over this program's own arrays, in the queue behind this program's own work.
  auto *offsets_there = on_device(queue, offsets);
  csr.offsets = offsets_there;
  csr.indices = on_device(queue, indices);
  csr.values = on_device(queue, values);
  nnz_matrix *matrix = nullptr;
  expect(nnz_borrow_csr(device, &csr, &matrix) == NNZ_OK, "arrays are borrowed");
  double *x_there = on_device(queue, x), *y_there = on_device(queue, std::vector<double>(rows, 1.0));
  expect(nnz_spmv(matrix, 2.0, x_there, 3.0, y_there) == NNZ_OK, "spmv");
  const auto y = on_host<double>(queue, y_there, rows);
  for (std::size_t row = 0; row < rows; ++row) expect(y[row] == 2.0 * product(row) + 3.0, "y");

  double *b_there = on_device(queue, b), *c_there = on_device(queue, std::vector<double>(rows * step, -1.0));
  expect(nnz_spmm(matrix, columns, 1.0, b_there, step, 0.0, c_there, step) == NNZ_OK, "spmm");
  const auto c = on_host<double>(queue, c_there, rows * step);
  for (std::size_t place = 0; place < rows * step; ++place) {
    expect(c[place] == (place % step < columns ? product(place / step) : -1.0), "C, and nothing beside it");
  }

  // A diagonal matrix in another format, and a solver: x = 1.
  std::vector<double> diagonal(order * order), right(order);
  for (std::size_t row = 0; row < order; ++row) diagonal[row * order + row] = right[row] = entry(row);
  double *diagonal_there = on_device(queue, diagonal), *right_there = on_device(queue, right);
  double *solved_there = on_device(queue, std::vector<double>(order));
  nnz_matrix *square = nullptr, *sliced = nullptr;
  expect(nnz_dense_to_csr(device, NNZ_F64, order, order, diagonal_there, order, &square) == NNZ_OK, "dense to CSR");
  expect(nnz_convert(square, NNZ_SELL, &sliced) == NNZ_OK, "CSR to SELL");
  nnz_info info{};
  expect(nnz_describe(sliced, &info) == NNZ_OK && info.format == NNZ_SELL && info.nnz == order, "SELL");
  nnz_solve_options options{};
  options.method = NNZ_CG;
  options.preconditioner = NNZ_JACOBI;
  nnz_solution solution{};
  expect(nnz_solve(sliced, &options, right_there, solved_there, &solution) == NNZ_OK, "solve");
  expect(solution.converged == 1, "convergence");
  for (double element : on_host<double>(queue, solved_there, order)) expect(std::abs(element - 1.0) < 1e-9, "x");

  // Errors have a message.
  std::vector<double> plain(rows + 2);
  expect_refusal(nnz_spmv(matrix, 1.0, x_there, 0.0, plain.data()), NNZ_WRONG_MEMORY, "y: ");
  sycl::queue elsewhere{sycl::context{where}, where, sycl::property::queue::in_order{}};
  double *foreign = sycl::malloc_device<double>(rows, elsewhere);
  expect_refusal(nnz_spmv(matrix, 1.0, foreign, 0.0, y_there), NNZ_WRONG_MEMORY, "x: ");
  expect_refusal(nnz_spmv(matrix, 1.0, nullptr, 0.0, y_there), NNZ_NULL, "x is null");
  sycl::queue unordered{context, where};
  nnz_device *none = nullptr;
  expect_refusal(nnz_open(&unordered, &none), NNZ_UNSUPPORTED, "not in order");
  queue.fill(offsets_there, 7, 1).wait_and_throw();
  nnz_matrix *broken = nullptr;
  expect_refusal(nnz_borrow_csr(device, &csr, &broken), NNZ_FORMAT, "csr");
  expect(none == nullptr && broken == nullptr, "failures write nothing");

  // An error of this program's own work reaches the call that waits for it, once.
  queue.submit([](sycl::handler &group) { group.host_task([] { throw std::runtime_error{"the task failed"}; }); });
  nnz_matrix *late = nullptr;
  expect_refusal(nnz_dense_to_csr(device, NNZ_F64, rows, cols, dense_there, cols, &late), NNZ_RUNTIME,
                 "the task failed");
  expect(late == nullptr, "failures write nothing");
  expect(nnz_dense_to_csr(device, NNZ_F64, rows, cols, dense_there, cols, &late) == NNZ_OK, "the queue works on");
  nnz_release(late);

  nnz_release(square);
  nnz_release(sliced);
  nnz_release(compressed);
  nnz_release(matrix);
  nnz_close(device);
  sycl::free(foreign, elsewhere);
  for (const void *memory : {static_cast<const void *>(dense_there), static_cast<const void *>(offsets_there),
                             static_cast<const void *>(csr.indices), csr.values, static_cast<const void *>(x_there),
                             static_cast<const void *>(y_there), static_cast<const void *>(b_there),
                             static_cast<const void *>(c_there),
                             static_cast<const void *>(diagonal_there), static_cast<const void *>(right_there),
                             static_cast<const void *>(solved_there)}) {
    sycl::free(const_cast<void *>(memory), queue);
  }
  std::puts("products, conversions and a solver on the caller's queue: every number is right, every fault is named");
}
