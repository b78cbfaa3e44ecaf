// Errors of work that is enqueued: the shim with a queue of its own, and a task of the host in it that throws.

#include "../src/sycl/shim.cpp"

#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace {

char message[reason_bytes];

void expect(bool holds, const char *what) {
  if (holds) return;
  std::fprintf(stderr, "%s does not hold; the last message is: %s\n", what, message);
  std::exit(1);
}

// The last device of OpenCL's.
void keep(void *to, cl_device_id device, const char *) { *static_cast<cl_device_id *>(to) = device; }

void fail_later(nnz_sycl_queue *queue) {
  queue->queue.submit([](sycl::handler &group) { group.host_task([] { throw std::runtime_error{"the task failed"}; }); });
}

void expect_failure(int code, const char *what) {
  expect(code == -1 && std::strcmp(message, "the task failed") == 0, what);
}

} // namespace

int main() {
  cl_device_id device = nullptr;
  nnz_sycl_queue *queue = nullptr;
  nnz_sycl_memory *memory = nullptr;
  expect(nnz_sycl_devices(keep, &device, message) == 0 && device != nullptr, "there is a device");
  expect(nnz_sycl_open(device, false, &queue, message) == 0, "its queue opens");
  expect(nnz_sycl_allocate(queue, 16, &memory, message) == 0, "there is memory");
  std::byte host[16] = {};

  fail_later(queue);
  expect_failure(nnz_sycl_wait(queue, message), "to wait says what failed");
  expect(nnz_sycl_wait(queue, message) == 0, "once");
  fail_later(queue);
  expect_failure(nnz_sycl_write(queue, memory, 0, host, 16, message), "to write says it");
  fail_later(queue);
  expect_failure(nnz_sycl_read(queue, memory, 0, host, 16, message), "to read says it");
  expect(nnz_sycl_read(queue, memory, 0, host, 16, message) == 0, "and the next one reads");

  expect(nnz_sycl_free(memory, message) == 0, "the memory is freed");
  nnz_sycl_close(queue);
  std::puts("errors of enqueued work reach the call that waits, once");
}
