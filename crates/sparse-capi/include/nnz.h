/* Sparse matrices in memory of the caller's, on the CPU or on a SYCL queue of the caller's. Nothing is copied.
 *
 * On the CPU (nnz_open_cpu) pointers are to plain memory, aligned as its type is. A call returns when its work is done.
 *
 * On a SYCL queue (nnz_open) pointers are to unified shared memory of the queue's context, aligned to 16 bytes, which
 * can be read up to the next multiple of 16 bytes and stays until the work that uses it is done. The queue is in order;
 * OpenCL serves its device, which has unified shared memory. Products are enqueued there, behind the caller's own work.
 *
 * Arrays that a matrix borrows stay as long as the matrix. The result of a call shares no memory with what it reads.
 * The pointer of an empty array may be anything.
 *
 * A function that fails writes nothing through its last argument, and nnz_message says what was wrong. One matrix is
 * used by one thread at a time. */
#ifndef NNZ_H
#define NNZ_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum nnz_status {
  NNZ_OK = 0,
  NNZ_NULL = 1,          /* a pointer is null that must not be */
  NNZ_WRONG_MEMORY = 2,  /* memory of another kind, not aligned, or shared by operand and result */
  NNZ_FORMAT = 3,        /* the arrays are no matrix */
  NNZ_SHAPE = 4,         /* shapes do not fit together */
  NNZ_OVERFLOW = 5,      /* a size does not fit its type */
  NNZ_UNSUPPORTED = 6,   /* the library, the queue or the device cannot do it */
  NNZ_OUT_OF_MEMORY = 7, /* the device has too little */
  NNZ_RUNTIME = 8        /* a library, a compiler or a device failed */
} nnz_status;

typedef enum nnz_type { NNZ_F32 = 0, NNZ_F64 = 1 } nnz_type;

typedef struct nnz_device nnz_device;
typedef struct nnz_matrix nnz_matrix;

/* A matrix in compressed rows: row i has the entries offsets[i] .. offsets[i + 1]. */
typedef struct nnz_csr {
  nnz_type type;
  size_t rows;
  size_t cols;
  size_t nnz;
  const int32_t *offsets; /* rows + 1 */
  const int32_t *indices; /* nnz columns */
  const void *values;     /* nnz values */
} nnz_csr;

/* What the last call of this thread that failed had to say; until the next one fails. */
const char *nnz_message(void);

/* The CPU, with so many threads; 0 stands for as many as the process may use. NNZ_UNSUPPORTED for more than 256, unless
   there are as many processors. */
nnz_status nnz_open_cpu(size_t threads, nnz_device **device);

/* The device of a queue: `queue` is a `sycl::queue *`, which is not kept. NNZ_UNSUPPORTED in a library without SYCL. */
nnz_status nnz_open(const void *queue, nnz_device **device);

/* Matrices of a device may outlive it. */
void nnz_close(nnz_device *device);

/* A matrix over the caller's arrays, which are checked. Columns may stand in any order and repeat. Values may change
 * between calls, offsets and indices not. */
nnz_status nnz_borrow_csr(const nnz_device *device, const nnz_csr *csr, nnz_matrix **matrix);

/* The entries of a dense matrix by rows that are not zero, as a matrix of the library's own. `step` is the number of
 * elements from a row to the next. `dense` is not kept. Waits for the device. */
nnz_status nnz_dense_to_csr(const nnz_device *device, nnz_type type, size_t rows, size_t cols, const void *dense,
                            size_t step, nnz_matrix **matrix);

/* The arrays of a matrix: the caller's, or the library's in memory of the same kind, which stay as long as the
 * matrix. */
nnz_status nnz_arrays(const nnz_matrix *matrix, nnz_csr *csr);

/* y <- alpha A x + beta y; where beta is 0, y is not read. */
nnz_status nnz_spmv(nnz_matrix *matrix, double alpha, const void *x, double beta, void *y);

/* C <- alpha A B + beta C for dense matrices by rows of `columns` columns; where beta is 0, C is not read. */
nnz_status nnz_spmm(nnz_matrix *matrix, size_t columns, double alpha, const void *b, size_t b_step, double beta,
                    void *c, size_t c_step);

/* Waits for the device where the matrix has memory of its own. */
void nnz_release(nnz_matrix *matrix);

#ifdef __cplusplus
}
#endif

#endif
