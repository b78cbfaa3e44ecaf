/* Sparse matrices in memory of the caller's, on the CPU or on a SYCL queue of the caller's.
 *
 * On the CPU (nnz_open_cpu) pointers are to plain memory, aligned as its type is. A call returns when its work is
 * done.
 *
 * On a SYCL queue (nnz_open) pointers are to unified shared memory of the queue's context, aligned to 16 bytes, which
 * can be read up to the next multiple of 16 bytes and stays until the work that uses it is done. The queue is in
 * order; OpenCL serves its device, which has unified shared memory. Products are enqueued there, after the caller's
 * own work.
 *
 * Functions that borrow take arrays where they lie, and so does every operand of an operation; a function that copies
 * says so. Arrays that a matrix borrows stay as long as the matrix. The result of a call shares no memory with what
 * it reads. The pointer of an empty array may be anything.
 *
 * A function that fails makes no handle and fills no struct, and nnz_message says what was wrong. Every function
 * returns NNZ_NULL for a null pointer and NNZ_UNSUPPORTED for a constant that its enumeration lacks; the other codes
 * are named where they may occur. Any number of threads may use a device, a matrix or a plan at a time, each with a
 * stack of 256 KiB or more. */
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
  NNZ_OVERFLOW = 5,      /* a size or a number does not fit its type, or operands have two types or devices */
  NNZ_UNSUPPORTED = 6,   /* the library, the queue or the device cannot do it */
  NNZ_OUT_OF_MEMORY = 7, /* the device has too little */
  NNZ_RUNTIME = 8,       /* a library, a compiler or a device failed */
  NNZ_FILE = 9,          /* a file cannot be read, or breaks its format */
  NNZ_SINGULAR = 10      /* a row has no diagonal or pivot to divide by */
} nnz_status;

/* Types of values. A complex number is its real and its imaginary part, as `float _Complex` and `double _Complex`. */
typedef enum nnz_type {
  NNZ_F32 = 0,
  NNZ_F64 = 1,
  NNZ_C32 = 2,  /* two float */
  NNZ_C64 = 3,  /* two double */
  NNZ_F16 = 4,  /* computed with in float; indices and offsets are int32_t */
  NNZ_BF16 = 5  /* as NNZ_F16 */
} nnz_type;

/* Types of indices and offsets: int32_t and int64_t. Offsets are at least as wide as indices. */
typedef enum nnz_index { NNZ_I32 = 0, NNZ_I64 = 1 } nnz_index;

typedef enum nnz_format {
  NNZ_CSR = 0,  /* compressed rows */
  NNZ_CSC = 1,  /* compressed columns */
  NNZ_COO = 2,  /* coordinates */
  NNZ_ELL = 3,  /* rows padded to one length */
  NNZ_HYB = 4,  /* short rows as ELL, what is left of the longer ones as COO */
  NNZ_SELL = 5  /* slices of rows of similar length, each padded */
} nnz_format;

/* op(A): A itself, its transpose, its conjugate transpose. */
typedef enum nnz_op { NNZ_NO_TRANSPOSE = 0, NNZ_TRANSPOSE = 1, NNZ_CONJUGATE_TRANSPOSE = 2 } nnz_op;

/* The triangle of A that a triangular solve reads. */
typedef enum nnz_triangle { NNZ_LOWER = 0, NNZ_UPPER = 1 } nnz_triangle;

/* What a sampled product takes of the matrix: its values, or its pattern alone, whose values count as 1. */
typedef enum nnz_sampling { NNZ_BY_VALUES = 0, NNZ_BY_PATTERN = 1 } nnz_sampling;

/* Solvers. */
typedef enum nnz_method {
  NNZ_CG = 0,          /* conjugate gradients, for Hermitian positive definite matrices */
  NNZ_BICGSTAB = 1,    /* for any square matrix */
  NNZ_ENQUEUED_CG = 2, /* NNZ_CG with iterations that are enqueued at once */
  NNZ_GMRES = 3,       /* restarted, for any square matrix */
  NNZ_MINRES = 4,      /* for Hermitian matrices, indefinite ones too */
  NNZ_LSQR = 5,        /* least squares, for matrices of any shape, without a preconditioner */
  NNZ_LSMR = 6,        /* the same with the residual of the normal equations falling steadily */
  NNZ_DIRECT = 7       /* a factorization on the CPU, where the library was built with the feature `direct` */
} nnz_method;

/* Preconditioners; the last two are on the CPU alone. */
typedef enum nnz_preconditioner {
  NNZ_NO_PRECONDITIONER = 0,
  NNZ_JACOBI = 1,       /* the diagonal */
  NNZ_BLOCK_JACOBI = 2, /* diagonal blocks */
  NNZ_ILU0 = 3,         /* incomplete LU factors */
  NNZ_IC0 = 4           /* incomplete Cholesky factors, for Hermitian positive definite matrices */
} nnz_preconditioner;

typedef struct nnz_complex {
  double re;
  double im;
} nnz_complex;

typedef struct nnz_device nnz_device;
typedef struct nnz_matrix nnz_matrix;
typedef struct nnz_spgemm_plan nnz_spgemm_plan;
typedef struct nnz_solve_plan nnz_solve_plan;

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

/* The same with indices and offsets of either type. */
typedef struct nnz_wide_csr {
  nnz_type type;
  nnz_index index_type;
  nnz_index offset_type;
  size_t rows;
  size_t cols;
  size_t nnz;
  const void *offsets; /* rows + 1 of offset_type */
  const void *indices; /* nnz columns of index_type */
  const void *values;  /* nnz values */
} nnz_wide_csr;

/* A matrix in coordinates: entry k is values[k] in row row_indices[k] and column col_indices[k]. */
typedef struct nnz_coo {
  nnz_type type;
  nnz_index index_type;
  size_t rows;
  size_t cols;
  size_t nnz;
  const void *row_indices; /* nnz of index_type */
  const void *col_indices; /* nnz of index_type */
  const void *values;      /* nnz values */
} nnz_coo;

typedef struct nnz_info {
  nnz_format format;
  nnz_type type;
  nnz_index index_type;
  nnz_index offset_type; /* index_type in a format without offsets */
  size_t rows;
  size_t cols;
  size_t nnz;   /* entries that are stored; padding does not count */
  size_t bytes; /* of all arrays, padding included */
} nnz_info;

/* All zeros are the defaults: NNZ_CG without a preconditioner. */
typedef struct nnz_solve_options {
  nnz_method method;
  nnz_preconditioner preconditioner;
  size_t block_rows;     /* of NNZ_BLOCK_JACOBI; 0 stands for 8 */
  double tolerance;      /* the solver is done when |b - A x| <= tolerance |b|; 0 stands for 1e-10 */
  size_t max_iterations; /* 0 stands for ten times the number of rows, for NNZ_LSQR twice the columns, for NNZ_LSMR the
                          * rows or the columns, whichever are fewer */
  size_t restart;        /* the iterations of a cycle of NNZ_GMRES; 0 stands for 20 */
  double damp;           /* NNZ_LSQR and NNZ_LSMR minimize |b - A x|^2 + damp^2 |x|^2 */
} nnz_solve_options;

typedef struct nnz_solution {
  int converged; /* 1 if the tolerance was met, else 0 */
  size_t iterations;
  double relative_residual; /* |b - A x| / |b|, computed from x */
} nnz_solution;

/* What the last call of this thread that failed had to say; until the next one fails. Empty where none has. */
const char *nnz_message(void);

/* The version of the library: "0.1.0". */
const char *nnz_version(void);

/* --- Devices --- */

/* The CPU, with so many threads; 0 stands for as many as the process may use. NNZ_UNSUPPORTED for more than 256,
 * unless there are as many processors. */
nnz_status nnz_open_cpu(size_t threads, nnz_device **device);

/* The device of a queue: `queue` is a `sycl::queue *`, which is not kept. NNZ_UNSUPPORTED in a library without SYCL. */
nnz_status nnz_open(const void *queue, nnz_device **device);

/* Matrices of a device may outlive it. */
void nnz_close(nnz_device *device);

/* --- Making matrices: each is the caller's, who ends it by nnz_release --- */

/* A matrix over the caller's arrays, which are checked. Columns may stand in any order and repeat. Values may change
 * between calls, offsets and indices not. NNZ_FORMAT, NNZ_OVERFLOW, NNZ_WRONG_MEMORY. */
nnz_status nnz_borrow_csr(const nnz_device *device, const nnz_csr *csr, nnz_matrix **matrix);

/* The same with indices and offsets of either type. NNZ_UNSUPPORTED for types that do not go together. */
nnz_status nnz_borrow_wide_csr(const nnz_device *device, const nnz_wide_csr *csr, nnz_matrix **matrix);

/* A matrix of a copy of the caller's arrays, as NNZ_COO. Entries may stand in any order and repeat: those of one
 * place are added where another format is made of it. NNZ_FORMAT, NNZ_OVERFLOW, NNZ_WRONG_MEMORY. */
nnz_status nnz_copy_coo(const nnz_device *device, const nnz_coo *coo, nnz_matrix **matrix);

/* The matrix of a file, `.mtx`, `.mtx.gz`, `.npz` or `.npy`, as NNZ_CSR. Values have the file's type; indices and
 * offsets are int32_t where that suffices, else int64_t. `path` is in UTF-8. NNZ_FILE, NNZ_UNSUPPORTED for another
 * kind of file. */
nnz_status nnz_read(const nnz_device *device, const char *path, nnz_matrix **matrix);

/* The entries of a dense matrix by rows that are not zero, as NNZ_CSR in memory of the library's own. `step` is the
 * number of elements from a row to the next. `dense` is not kept. Waits for the device. NNZ_FORMAT if `step` is below
 * `cols`. */
nnz_status nnz_dense_to_csr(const nnz_device *device, nnz_type type, size_t rows, size_t cols, const void *dense,
                            size_t step, nnz_matrix **matrix);

/* A matrix in another format, in memory of the library's own; in the format that it has already, one that shares its
 * arrays, borrowed ones too. Entries of NNZ_COO in one place are added. NNZ_UNSUPPORTED where padding would take far
 * more memory than the entries, NNZ_OVERFLOW. */
nnz_status nnz_convert(const nnz_matrix *matrix, nnz_format format, nnz_matrix **made);

/* A matrix with its values rounded to another type, in memory of the library's own; of the type that they have
 * already, as nnz_convert. NNZ_OVERFLOW for a finite value that would become infinite, NNZ_UNSUPPORTED from complex
 * to real. */
nnz_status nnz_cast(const nnz_matrix *matrix, nnz_type type, nnz_matrix **made);

/* The transpose, `cols` x `rows`, in memory of the library's own: of NNZ_CSR as NNZ_CSC and the other way round, else
 * in the same format. Products take NNZ_TRANSPOSE without it. */
nnz_status nnz_transpose(const nnz_matrix *matrix, nnz_matrix **made);

/* A B, sorted, in memory of the library's own: two of NNZ_CSR or two of NNZ_CSC, of the same types. Sums of zero are
 * entries. NNZ_UNSUPPORTED for other formats, for two formats or types, and on a SYCL queue, NNZ_OVERFLOW for more
 * entries than the offsets count. */
nnz_status nnz_spgemm(const nnz_matrix *a, const nnz_matrix *b, nnz_matrix **made);

/* Finds the pattern of A B, so that nnz_run_spgemm computes values alone. The plan needs neither matrix afterwards; it
 * is the caller's, who ends it by nnz_release_spgemm_plan. Codes as for nnz_spgemm, and NNZ_OVERFLOW for two types of
 * indices. */
nnz_status nnz_plan_spgemm(const nnz_matrix *a, const nnz_matrix *b, nnz_spgemm_plan **plan);

/* A B, as nnz_spgemm makes it, for the values that the plan's matrices have now. Threads that run one plan take turns.
 * NNZ_SHAPE for matrices that the plan was not made for: of borrowed arrays it takes the same nnz_matrix alone. */
nnz_status nnz_run_spgemm(const nnz_spgemm_plan *plan, const nnz_matrix *a, const nnz_matrix *b, nnz_matrix **made);

void nnz_release_spgemm_plan(nnz_spgemm_plan *plan);

/* alpha A + beta B on the union of the patterns, sorted, in memory of the library's own: in NNZ_CSC if A is, else in
 * NNZ_CSR. Sums of zero are entries; where a factor is 0, its matrix is not read. NNZ_SHAPE for unequal shapes,
 * NNZ_UNSUPPORTED for unequal types of values, NNZ_OVERFLOW for a factor that they do not hold. */
nnz_status nnz_add(nnz_complex alpha, const nnz_matrix *a, nnz_complex beta, const nnz_matrix *b, nnz_matrix **made);

/* The elements in `row_count` rows and `col_count` columns, in the order of these lists, which may repeat and leave out,
 * in memory of the library's own: a slice, or with permutations a permuted matrix; in NNZ_CSC if the matrix is, else in
 * NNZ_CSR, sorted. NNZ_SHAPE for a row or a column that the matrix has not. */
nnz_status nnz_select(const nnz_matrix *matrix, size_t row_count, const size_t *rows, size_t col_count,
                      const size_t *cols, nnz_matrix **made);

/* Waits for the device where the matrix has memory of its own. */
void nnz_release(nnz_matrix *matrix);

/* --- Looking at matrices --- */

nnz_status nnz_describe(const nnz_matrix *matrix, nnz_info *info);

/* The arrays of a matrix in NNZ_CSR with int32_t: the caller's, or the library's in memory of the same kind, which
 * stay as long as the matrix. NNZ_UNSUPPORTED for other formats, which nnz_convert changes, and other types of
 * indices. */
nnz_status nnz_arrays(const nnz_matrix *matrix, nnz_csr *csr);

/* The same for all types of indices and offsets. */
nnz_status nnz_wide_arrays(const nnz_matrix *matrix, nnz_wide_csr *csr);

/* Writes the matrix to a file, which is complete or absent: `.mtx`, `.mtx.gz`, `.npz` or, with all elements, `.npy`.
 * NNZ_CSR, NNZ_CSC and NNZ_COO keep their format in `.npz`, others become NNZ_CSR. `path` is in UTF-8. NNZ_FILE,
 * NNZ_UNSUPPORTED for another kind of file, and for values of 16 bits in `.npz` and `.npy`. */
nnz_status nnz_write(const nnz_matrix *matrix, const char *path);

/* Writes all elements, zeros included, of a `rows` x `cols` matrix by rows, `step` elements apart; what lies between
 * rows stays. Entries of one place are added. NNZ_FORMAT if `step` is below `cols`, NNZ_WRONG_MEMORY. */
nnz_status nnz_to_dense(const nnz_matrix *matrix, size_t step, void *dense);

/* --- Operations: operands have the type of the matrix's values --- */

/* y <- alpha A x + beta y, with `cols` elements of x and `rows` of y; where beta is 0, y is not read.
 * NNZ_WRONG_MEMORY, NNZ_OVERFLOW for a factor that the type of the values does not hold. */
nnz_status nnz_spmv(const nnz_matrix *matrix, double alpha, const void *x, double beta, void *y);

/* y <- alpha op(A) x + beta y; a transposed A has x of `rows` elements and y of `cols`. Codes as for nnz_spmv; a
 * factor with an imaginary part takes complex values, else NNZ_OVERFLOW. */
nnz_status nnz_spmv_op(const nnz_matrix *matrix, nnz_op op, nnz_complex alpha, const void *x, nnz_complex beta,
                       void *y);

/* C <- alpha A B + beta C for dense matrices by rows of `columns` columns, B with `cols` rows and C with `rows`,
 * their rows b_step and c_step elements apart; where beta is 0, C is not read. What lies between rows stays.
 * NNZ_FORMAT if a step is below `columns`, NNZ_SHAPE for a step that fits no memory, and as nnz_spmv. */
nnz_status nnz_spmm(const nnz_matrix *matrix, size_t columns, double alpha, const void *b, size_t b_step, double beta,
                    void *c, size_t c_step);

/* C <- alpha op(A) B + beta C; a transposed A has B with `rows` rows and C with `cols`. Codes as for nnz_spmm. */
nnz_status nnz_spmm_op(const nnz_matrix *matrix, nnz_op op, size_t columns, nnz_complex alpha, const void *b,
                       size_t b_step, nnz_complex beta, void *c, size_t c_step);

/* Solves op(A) X = B by substitution, for a triangle of a square A in NNZ_CSR or NNZ_CSC on the CPU and dense matrices by
 * rows of `columns` columns, B and X with `rows` rows, b_step and x_step elements apart; X is not read, and what lies
 * between its rows stays. Entries in the other triangle are ignored, with unit_diagonal also those on the diagonal, for
 * which ones are taken. NNZ_SINGULAR if a row's diagonal is zero or not stored; NNZ_SHAPE if A is not square;
 * NNZ_UNSUPPORTED for other formats and devices; and as nnz_spmm. */
nnz_status nnz_trisolve(const nnz_matrix *matrix, nnz_triangle triangle, int unit_diagonal, nnz_op op, size_t columns,
                        const void *b, size_t b_step, void *x, size_t x_step);

/* C <- alpha A o (U V^T) + beta C, element by element: for each entry (i, j) of A, in the order of the entries, the
 * product of its value, alpha, and row i of U times row j of V, which is not conjugated. U has `rows` rows and V `cols`,
 * both `inner` columns, their rows u_step and v_step elements apart. C is an array of nnz values,
 * apart from those of A; where beta is 0, it is not read. NNZ_UNSUPPORTED unless A is in CSR, CSC or COO, NNZ_FORMAT if
 * a step is below `inner`, and as nnz_spmv. */
nnz_status nnz_sddmm(const nnz_matrix *matrix, nnz_sampling sampling, size_t inner, nnz_complex alpha, const void *u,
                     size_t u_step, const void *v, size_t v_step, nnz_complex beta, void *c);

/* Solves A x = b, with `rows` elements of b and `cols` of x, from the x that is there, which gets the last iterate;
 * NNZ_DIRECT does not read x. NNZ_LSQR, NNZ_LSMR and NNZ_DIRECT for more rows than columns minimize |b - A x|. Not to
 * converge is NNZ_OK: `solution` says how it ended. Waits for the device. NNZ_SHAPE if A is not square, but for least
 * squares; NNZ_SINGULAR if incomplete factors have no pivot in a row, NNZ_JACOBI no diagonal, or NNZ_DIRECT a singular
 * matrix; NNZ_UNSUPPORTED for values of 16 bits, for options out of their range, for a method with a preconditioner
 * that it does not take, and for factors on a SYCL queue. */
nnz_status nnz_solve(const nnz_matrix *matrix, const nnz_solve_options *options, const void *b, void *x,
                     nnz_solution *solution);

/* A solver of A x = b for many right-hand sides, and for other values of A: it plans the product, makes the
 * preconditioner or the factors, and allocates its vectors, once. The plan is the caller's, who ends it by
 * nnz_release_solve_plan. Arrays that A borrows stay as long as the plan, or until nnz_update_solve takes another matrix.
 * Codes as for nnz_solve. */
nnz_status nnz_plan_solve(const nnz_matrix *matrix, const nnz_solve_options *options, nnz_solve_plan **plan);

/* Solves A x = b as nnz_solve does. Threads that run one plan take turns. Between a change of values that A borrows and
 * nnz_update_solve, products read the new values, preconditioners and factors are those of the old ones. */
nnz_status nnz_run_solve(const nnz_solve_plan *plan, const void *b, void *x, nnz_solution *solution);

/* Takes the values that `matrix` has now, as in the steps of Newton's method or of an integration in time: the matrix of
 * the plan after its caller has written new values to its arrays, or another one of the same format and types with equal
 * coordinates in the same order. Preconditioners and factors are computed anew, plans and vectors stay. After an error
 * they are those from before. NNZ_SHAPE for another pattern, NNZ_OVERFLOW for another type of values, and as
 * nnz_plan_solve. */
nnz_status nnz_update_solve(const nnz_solve_plan *plan, const nnz_matrix *matrix);

void nnz_release_solve_plan(nnz_solve_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
