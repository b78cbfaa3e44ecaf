// ViennaCL behind a C ABI: products of its CSR matrix, in a context, on a queue and over buffers of the caller's.
//
// A function that can fail returns 0, or 1 with the reason as text in `reason`, a buffer of `reason_bytes`. No
// exception leaves this file.

#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
// In this order: ViennaCL's products are found only where its matrices are known.
#include <viennacl/vector.hpp>
#include <viennacl/matrix.hpp>
#include <viennacl/compressed_matrix.hpp>
#include <viennacl/linalg/prod.hpp>
#include <viennacl/version.hpp>

namespace {

constexpr int abi_version = 1;
constexpr std::size_t reason_bytes = 1024;

using Context = viennacl::ocl::context;

template <typename Work>
int guarded(char *reason, Work work) noexcept {
  const auto because = [reason](const char *what) {
    std::snprintf(reason, reason_bytes, "%s", what);
    return 1;
  };
  try {
    work();
    return 0;
  } catch (const std::exception &error) {
    return because(error.what());
  } catch (...) {
    return because("an exception of an unknown type");
  }
}

} // namespace

// CSR with 32-bit indices, in buffers that begin with their first elements.
struct nnz_viennacl_csr {
  std::size_t rows, cols, nnz;
  cl_mem offsets, indices, values;
};

// The elements of a buffer from number `start` on.
struct nnz_viennacl_view {
  cl_mem buffer;
  std::size_t start;
};

struct nnz_viennacl_matrix {
  virtual ~nnz_viennacl_matrix() = default;
  virtual void spmv(nnz_viennacl_view x, nnz_viennacl_view y) const = 0;
  virtual void spmm(nnz_viennacl_view b, nnz_viennacl_view c, std::size_t columns) const = 0;
};

namespace {

// Puts a buffer of the caller's in the place of memory on the host.
void replace(viennacl::backend::mem_handle &handle, const Context &context, cl_mem buffer, std::size_t bytes) {
  handle.ram_handle().reset();
  handle.switch_active_handle_id(viennacl::OPENCL_MEMORY);
  handle.opencl_handle() = buffer;
  handle.opencl_handle().inc();
  handle.opencl_handle().context(context);
  handle.raw_size(bytes);
}

template <typename T>
class Matrix final : public nnz_viennacl_matrix {
public:
  // ViennaCL's own constructor over buffers reads them before they have a context.
  Matrix(const Context &context, const nnz_viennacl_csr &csr)
      : context{context}, a{csr.rows, csr.cols, csr.nnz, viennacl::context{viennacl::MAIN_MEMORY}} {
    replace(a.handle1(), context, csr.offsets, sizeof(cl_uint) * (csr.rows + 1));
    replace(a.handle2(), context, csr.indices, sizeof(cl_uint) * csr.nnz);
    replace(a.handle(), context, csr.values, sizeof(T) * csr.nnz);
    a.handle3().switch_active_handle_id(viennacl::OPENCL_MEMORY);
    a.generate_row_block_information();
  }

  void spmv(nnz_viennacl_view x, nnz_viennacl_view y) const override {
    const Vector input{x.buffer, a.size2(), x.start, 1, context};
    Vector output{y.buffer, a.size1(), y.start, 1, context};
    output = viennacl::linalg::prod(a, input);
  }

  void spmm(nnz_viennacl_view b, nnz_viennacl_view c, std::size_t columns) const override {
    const Dense input{b.buffer, context, a.size2(), 0, 1, a.size2(), columns, b.start, 1, columns, true};
    Dense output{c.buffer, context, a.size1(), 0, 1, a.size1(), columns, c.start, 1, columns, true};
    output = viennacl::linalg::prod(a, input);
  }

private:
  using Vector = viennacl::vector_base<T>;
  using Dense = viennacl::matrix_base<T>;

  const Context &context;
  viennacl::compressed_matrix<T> a;
};

} // namespace

extern "C" {

int nnz_viennacl_abi_version() { return abi_version; }

// 107 is 1.7. The patch is left out, since the header of 1.7.1 says 1.7.0.
int nnz_viennacl_version() { return 100 * VIENNACL_MAJOR_VERSION + VIENNACL_MINOR_VERSION; }

// The context is never released: ViennaCL remembers by its handle for which contexts it has compiled its kernels.
int nnz_viennacl_open(cl_context context, cl_device_id device, cl_command_queue queue, const Context **opened, char *reason) {
  return guarded(reason, [&] {
    auto made = std::make_unique<Context>();
    made->add_device(device);
    made->init(context);
    made->add_queue(device, queue);
    *opened = made.release();
  });
}

// Shares the buffers of `csr`, whose values are f64 if `is_double`, else f32.
int nnz_viennacl_matrix_of(const Context *context, const nnz_viennacl_csr *csr, bool is_double, nnz_viennacl_matrix **matrix,
                           char *reason) {
  return guarded(reason, [&] {
    if (is_double) {
      *matrix = new Matrix<double>{*context, *csr};
    } else {
      *matrix = new Matrix<float>{*context, *csr};
    }
  });
}

void nnz_viennacl_release(nnz_viennacl_matrix *matrix) { delete matrix; }

// Enqueues y = A·x.
int nnz_viennacl_spmv(const nnz_viennacl_matrix *a, nnz_viennacl_view x, nnz_viennacl_view y, char *reason) {
  return guarded(reason, [&] { a->spmv(x, y); });
}

// Enqueues C = A·B, both by rows, of so many columns.
int nnz_viennacl_spmm(const nnz_viennacl_matrix *a, nnz_viennacl_view b, nnz_viennacl_view c, std::size_t columns, char *reason) {
  return guarded(reason, [&] { a->spmm(b, c, columns); });
}

} // extern "C"
