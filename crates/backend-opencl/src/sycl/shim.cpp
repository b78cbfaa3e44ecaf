// A SYCL 2020 queue behind a C ABI: devices, memory, programs and launches. Kernels of OpenCL's come as its handles,
// made for the queue's context; those of SYCL's own are compiled here.
//
// A function that can fail returns 0, or a `sycl::errc` (or -1 for an error of another kind) with the reason as text in
// `reason`, a buffer of `reason_bytes`. No exception leaves this file.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <sycl/sycl.hpp>
#include <utility>
#include <vector>

namespace {

constexpr int abi_version = 4;
constexpr std::size_t reason_bytes = 1024;
constexpr auto opencl = sycl::backend::opencl;
namespace experimental = sycl::ext::oneapi::experimental;

template <typename Work>
int guarded(char *reason, Work work) noexcept {
  const auto because = [reason](int code, const char *what) {
    std::snprintf(reason, reason_bytes, "%s", what);
    return code == 0 ? -1 : code;
  };
  try {
    work();
    return 0;
  } catch (const sycl::exception &error) {
    return because(error.code().value(), error.what());
  } catch (const std::exception &error) {
    return because(-1, error.what());
  } catch (...) {
    return because(-1, "an exception of an unknown type");
  }
}

// The first error of a queue that nobody has heard of.
class Errors {
public:
  void add(const sycl::exception_list &list) {
    const std::lock_guard lock{mutex};
    if (!first && list.size() > 0) first = *list.begin();
  }

  void rethrow() {
    std::exception_ptr error;
    {
      const std::lock_guard lock{mutex};
      std::swap(error, first);
    }
    if (error) std::rethrow_exception(error);
  }

private:
  std::mutex mutex;
  std::exception_ptr first;
};

sycl::property_list properties(bool clock) {
  const sycl::property::queue::in_order in_order;
  if (clock) return {in_order, sycl::property::queue::enable_profiling{}};
  return {in_order};
}

// The SYCL features of a device, as words with a space after each.
std::string features(const sycl::device &device) {
  std::string words;
  if (device.has(sycl::aspect::usm_device_allocations)) words += "usm_device_allocations ";
  if (sycl::device{device}.ext_oneapi_can_compile(experimental::source_language::sycl)) words += "ext_oneapi_can_compile ";
  for (const auto size : device.get_info<sycl::info::device::sub_group_sizes>()) {
    words += "sub_group_size_" + std::to_string(size) + " ";
  }
  return words;
}

[[noreturn]] void refuse(sycl::errc code, const char *why) {
  throw sycl::exception{sycl::make_error_code(code), why};
}

} // namespace

struct nnz_sycl_queue {
  std::shared_ptr<Errors> errors = std::make_shared<Errors>();
  sycl::queue queue;

  nnz_sycl_queue(const sycl::device &device, bool clock)
      : queue{sycl::context{device}, device, [errors = errors](const sycl::exception_list &list) { errors->add(list); },
              properties(clock)} {}

  // A queue of the caller's, whose handler keeps hearing of its errors.
  explicit nnz_sycl_queue(const sycl::queue &callers) : queue{callers} {
    if (queue.get_backend() != opencl) refuse(sycl::errc::backend_mismatch, "the queue's device is not served by OpenCL");
    if (!queue.is_in_order()) refuse(sycl::errc::invalid, "the queue is not in order");
    if (!queue.get_device().has(sycl::aspect::usm_device_allocations)) {
      refuse(sycl::errc::feature_not_supported, "the queue's device has no unified shared memory");
    }
  }

  void wait() {
    queue.wait_and_throw();
    errors->rethrow();
  }

  // An error of earlier work may come before that of `event`'s own.
  void wait_for(sycl::event event) {
    event.wait_and_throw();
    errors->rethrow();
  }
};

// Unified shared memory where the device has it, a buffer where not.
struct nnz_sycl_memory {
  sycl::queue queue;
  void *pointer = nullptr;
  bool owned = true;
  std::optional<sycl::buffer<std::byte>> buffer;

  nnz_sycl_memory(const sycl::queue &queue, std::size_t bytes) : queue{queue} {
    if (!queue.get_device().has(sycl::aspect::usm_device_allocations)) {
      buffer.emplace(sycl::range{bytes});
    } else if (pointer = sycl::malloc_device(bytes, queue); pointer == nullptr) {
      refuse(sycl::errc::memory_allocation, "the device has no more memory");
    }
  }

  // Memory of the caller's.
  nnz_sycl_memory(const sycl::queue &queue, void *pointer) : queue{queue}, pointer{pointer}, owned{false} {
    if (sycl::get_pointer_type(pointer, queue.get_context()) == sycl::usm::alloc::unknown) {
      refuse(sycl::errc::invalid, "it is not unified shared memory of the queue's context");
    }
  }

  void *at(std::size_t offset) const { return static_cast<std::byte *>(pointer) + offset; }

  template <sycl::access_mode mode>
  auto part(sycl::handler &group, std::size_t offset, std::size_t bytes) {
    return buffer->get_access<mode>(group, sycl::range{bytes}, sycl::id{offset});
  }

  void give_to(sycl::handler &group, int position) {
    if (buffer) {
      group.set_arg(position, buffer->get_access<sycl::access_mode::read_write>(group));
    } else {
      group.set_arg(position, pointer);
    }
  }
};

struct nnz_sycl_program {
  sycl::kernel_bundle<sycl::bundle_state::executable> bundle;
};

struct nnz_sycl_kernel {
  sycl::kernel kernel;
};

struct nnz_sycl_event {
  sycl::event event;
};

// Memory, or the bytes of a value.
struct nnz_sycl_argument {
  nnz_sycl_memory *memory;
  const void *value;
  std::size_t length;
};

extern "C" {

int nnz_sycl_abi_version() { return abi_version; }

// Calls `found` with each device that OpenCL serves and its features, in SYCL's order.
int nnz_sycl_devices(void (*found)(void *to, cl_device_id device, const char *features), void *to, char *reason) {
  return guarded(reason, [&] {
    for (const auto &platform : sycl::platform::get_platforms()) {
      if (platform.get_backend() != opencl) continue;
      for (const auto &device : platform.get_devices()) {
        found(to, sycl::get_native<opencl>(device), features(device).c_str());
      }
    }
  });
}

// With a clock, the queue notes when its work ran.
int nnz_sycl_open(cl_device_id device, bool clock, nnz_sycl_queue **queue, char *reason) {
  return guarded(reason, [&] { *queue = new nnz_sycl_queue{sycl::make_device<opencl>(device), clock}; });
}

// `callers` is a `sycl::queue *`, and `device` becomes its device.
int nnz_sycl_adopt(const void *callers, nnz_sycl_queue **queue, cl_device_id *device, char *reason) {
  return guarded(reason, [&] {
    auto adopted = std::make_unique<nnz_sycl_queue>(*static_cast<const sycl::queue *>(callers));
    *device = sycl::get_native<opencl>(adopted->queue.get_device());
    *queue = adopted.release();
  });
}

void nnz_sycl_close(nnz_sycl_queue *queue) { delete queue; }

// The caller owns the context that it gets.
int nnz_sycl_context(const nnz_sycl_queue *queue, cl_context *context, char *reason) {
  return guarded(reason, [&] { *context = sycl::get_native<opencl>(queue->queue.get_context()); });
}

int nnz_sycl_allocate(const nnz_sycl_queue *queue, std::size_t bytes, nnz_sycl_memory **memory, char *reason) {
  return guarded(reason, [&] { *memory = new nnz_sycl_memory{queue->queue, bytes}; });
}

int nnz_sycl_borrow(const nnz_sycl_queue *queue, void *pointer, nnz_sycl_memory **memory, char *reason) {
  return guarded(reason, [&] { *memory = new nnz_sycl_memory{queue->queue, pointer}; });
}

// Its address; null for a buffer.
void *nnz_sycl_address(const nnz_sycl_memory *memory) { return memory->pointer; }

// Work that uses the memory may be enqueued still: SYCL keeps a buffer for it, but no unified shared memory.
int nnz_sycl_free(nnz_sycl_memory *memory, char *reason) {
  const std::unique_ptr<nnz_sycl_memory> owned{memory};
  return guarded(reason, [&] {
    if (memory->buffer || !memory->owned) return;
    memory->queue.wait();
    sycl::free(memory->pointer, memory->queue);
  });
}

// Waits until the host's bytes have been read.
int nnz_sycl_write(nnz_sycl_queue *queue, nnz_sycl_memory *memory, std::size_t offset, const std::byte *host,
                   std::size_t bytes, char *reason) {
  return guarded(reason, [&] {
    if (!memory->buffer) return queue->wait_for(queue->queue.memcpy(memory->at(offset), host, bytes));
    queue->wait_for(queue->queue.submit(
        [&](sycl::handler &group) { group.copy(host, memory->part<sycl::access_mode::write>(group, offset, bytes)); }));
  });
}

// Waits until the host's bytes have been written.
int nnz_sycl_read(nnz_sycl_queue *queue, nnz_sycl_memory *memory, std::size_t offset, std::byte *host,
                  std::size_t bytes, char *reason) {
  return guarded(reason, [&] {
    if (!memory->buffer) return queue->wait_for(queue->queue.memcpy(host, memory->at(offset), bytes));
    queue->wait_for(queue->queue.submit(
        [&](sycl::handler &group) { group.copy(memory->part<sycl::access_mode::read>(group, offset, bytes), host); }));
  });
}

int nnz_sycl_copy(nnz_sycl_queue *queue, nnz_sycl_memory *from, std::size_t from_offset, nnz_sycl_memory *to,
                  std::size_t to_offset, std::size_t bytes, char *reason) {
  return guarded(reason, [&] {
    if (!from->buffer) {
      queue->queue.memcpy(to->at(to_offset), from->at(from_offset), bytes);
      return;
    }
    queue->queue.submit([&](sycl::handler &group) {
      group.copy(from->part<sycl::access_mode::read>(group, from_offset, bytes),
                 to->part<sycl::access_mode::write>(group, to_offset, bytes));
    });
  });
}

int nnz_sycl_flush(nnz_sycl_queue *queue, char *reason) {
  return guarded(reason, [&] { queue->queue.ext_oneapi_prod(); });
}

int nnz_sycl_wait(nnz_sycl_queue *queue, char *reason) {
  return guarded(reason, [&] { queue->wait(); });
}

// SYCL takes a reference of its own to `native`.
int nnz_sycl_kernel_of(const nnz_sycl_queue *queue, cl_kernel native, nnz_sycl_kernel **kernel, char *reason) {
  return guarded(reason, [&] {
    *kernel = new nnz_sycl_kernel{sycl::make_kernel<opencl>(native, queue->queue.get_context())};
  });
}

// Compiles SYCL C++. Where that fails, `say` is called with the compiler's log.
int nnz_sycl_compile(const nnz_sycl_queue *queue, const char *text, void (*say)(void *to, const char *log), void *to,
                     nnz_sycl_program **program, char *reason) {
  std::string log;
  const int code = guarded(reason, [&] {
    auto source = experimental::create_kernel_bundle_from_source(
        queue->queue.get_context(), experimental::source_language::sycl, std::string{text});
    const experimental::properties properties{experimental::save_log{&log}};
    const std::vector devices{queue->queue.get_device()};
    *program = new nnz_sycl_program{experimental::build(source, devices, properties)};
  });
  if (code != 0) say(to, log.c_str());
  return code;
}

void nnz_sycl_release_program(nnz_sycl_program *program) { delete program; }

// The program's kernel of this name, and how many arguments it takes.
int nnz_sycl_kernel_in(nnz_sycl_program *program, const char *name, nnz_sycl_kernel **kernel, std::uint32_t *arguments,
                       char *reason) {
  return guarded(reason, [&] {
    sycl::kernel found = program->bundle.ext_oneapi_get_kernel(name);
    *arguments = found.get_info<sycl::info::kernel::num_args>();
    *kernel = new nnz_sycl_kernel{std::move(found)};
  });
}

void nnz_sycl_release_kernel(nnz_sycl_kernel *kernel) { delete kernel; }

int nnz_sycl_launch(nnz_sycl_queue *queue, const nnz_sycl_kernel *kernel, std::size_t groups, std::size_t local,
                    const nnz_sycl_argument *arguments, int count, char *reason) {
  return guarded(reason, [&] {
    queue->queue.submit([&](sycl::handler &group) {
      for (int position = 0; position < count; ++position) {
        const auto [memory, value, length] = arguments[position];
        if (memory != nullptr) {
          memory->give_to(group, position);
        } else {
          group.set_arg(position, sycl::ext::oneapi::experimental::raw_kernel_arg{value, length});
        }
      }
      group.parallel_for(sycl::nd_range<1>{groups * local, local}, kernel->kernel);
    });
  });
}

// The point behind all work that is enqueued.
int nnz_sycl_mark(nnz_sycl_queue *queue, nnz_sycl_event **event, char *reason) {
  return guarded(reason, [&] { *event = new nnz_sycl_event{queue->queue.ext_oneapi_submit_barrier()}; });
}

// Waits for the event; when it was reached, by the device's clock.
int nnz_sycl_reached(nnz_sycl_event *event, std::uint64_t *nanoseconds, char *reason) {
  return guarded(reason, [&] {
    event->event.wait_and_throw();
    *nanoseconds = event->event.get_profiling_info<sycl::info::event_profiling::command_end>();
  });
}

void nnz_sycl_release_event(nnz_sycl_event *event) { delete event; }

} // extern "C"
