// A stand-in for the driver's library: devices without kernels, whose memory is the host's.
// It enforces what the driver's documentation says of contexts, of captures and of memory that was freed.
//
// Environment: STAND_IN_VERSION, the version that it reports; STAND_IN_DEVICES, how many there are;
// STAND_IN_BROKEN, the number of a device that says nothing about itself; STAND_IN_PEERS, 0 if devices do not reach
// each other's memory.

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_CONTEXT = 201, INVALID_HANDLE = 400,
       ILLEGAL_ADDRESS = 700, NOT_SUPPORTED = 801, CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901,
       CAPTURED_EVENT = 907 };
enum { MOST = 4096 };

typedef int Result;
typedef uintptr_t Address;
typedef struct { Address start; size_t bytes; int freed, device; long last_copy; } Block;
typedef struct { Address to, from; size_t bytes; } Copy;
typedef struct { Copy copies[MOST]; int count; } Graph;
typedef struct { int device; int captures, broken; pthread_t by; Graph *graph; } Stream;
typedef struct { int captured; long recorded; } Event;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Block blocks[MOST], pinned[MOST];
static int block_count, pinned_count;
static int contexts[8];
static _Thread_local int *current;

// Copies and events of all streams are numbered; those up to `ended` were waited for.
static _Atomic long enqueued, ended;
// Frees of pinned memory before its last copy was waited for.
static int early_frees;
// Calls of cuEventRecord that fail.
static int failing_records;

void stand_in_fail_records(int count) { failing_records = count; }
int stand_in_early_frees(void) { return early_frees; }

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static Result in_context(int device) {
    return !current ? INVALID_CONTEXT : current != &contexts[device] ? INVALID_HANDLE : OK;
}

#define CHECK(call) do { Result code = (call); if (code != OK) return code; } while (0)

Result cuDriverGetVersion(int *version) { *version = number("STAND_IN_VERSION", 12040); return OK; }
Result cuInit(unsigned flags) { return flags ? INVALID_VALUE : OK; }
Result cuDeviceGetCount(int *count) { *count = number("STAND_IN_DEVICES", 2); return OK; }
Result cuDeviceGet(int *device, int ordinal) { *device = ordinal; return OK; }
Result cuDeviceGetName(char *name, int len, int device) {
    if (device == number("STAND_IN_BROKEN", -1)) return INVALID_VALUE;
    memset(name, 'x', len); // without an end
    return OK;
}
Result cuDeviceGetUuid_v2(unsigned char *uuid, int device) { memset(uuid, 'a' + device, 16); return OK; }
Result cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = (size_t)1 << 30; return OK; }
Result cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 4 : 1 << 17;
    return OK;
}
Result cuDeviceGetDefaultMemPool(void **pool, int device) { *pool = &contexts[device]; return OK; }
Result cuMemPoolSetAttribute(void *pool, int attribute, void *value) { (void)pool, (void)attribute, (void)value; return OK; }
Result cuDeviceCanAccessPeer(int *can, int device, int peer) {
    if (device == peer) return INVALID_VALUE;
    *can = number("STAND_IN_PEERS", 1);
    return OK;
}
Result cuMemPoolSetAccess(void *pool, const void *access, size_t count) {
    (void)pool, (void)access;
    return count == 1 && number("STAND_IN_PEERS", 1) ? OK : INVALID_VALUE;
}
Result cuDevicePrimaryCtxRetain(int **context, int device) { *context = &contexts[device]; return OK; }
Result cuDevicePrimaryCtxRelease_v2(int device) { (void)device; return OK; }
Result cuCtxGetCurrent(int **context) { *context = current; return OK; }
Result cuCtxSetCurrent(int *context) { current = context; return OK; }
Result cuGetErrorName(int code, const char **name) { *name = code == CAPTURE_INVALIDATED ? "INVALIDATED" : "ERROR"; return OK; }
Result cuGetErrorString(int code, const char **text) { return cuGetErrorName(code, text); }

Result cuStreamCreate(Stream **stream, unsigned flags) {
    (void)flags;
    if (!current) return INVALID_CONTEXT;
    *stream = calloc(1, sizeof **stream);
    (*stream)->device = (int)(current - contexts);
    return OK;
}
Result cuStreamCreateWithPriority(Stream **stream, unsigned flags, int priority) {
    (void)priority;
    return cuStreamCreate(stream, flags);
}
Result cuStreamDestroy_v2(Stream *stream) { CHECK(in_context(stream->device)); free(stream); return OK; }

// Calls that a captured stream refuses; they spoil the capture.
static Result spoils(Stream *stream) {
    if (stream->captures) { stream->broken = 1; return CAPTURE_UNSUPPORTED; }
    return in_context(stream->device);
}
Result cuStreamSynchronize(Stream *stream) {
    CHECK(spoils(stream));
    ended = enqueued;
    return OK;
}

Result cuCtxSynchronize(void) {
    ended = enqueued;
    return current ? OK : INVALID_CONTEXT;
}

static Block *block_of(Address start, size_t bytes) {
    for (int k = 0; k < block_count; k++) {
        Block *block = &blocks[k];
        if (start >= block->start && start + bytes <= block->start + block->bytes) return block->freed ? NULL : block;
    }
    return NULL;
}
Result cuMemAllocAsync(Address *start, size_t bytes, Stream *stream) {
    CHECK(spoils(stream));
    pthread_mutex_lock(&lock);
    void *memory = block_count < MOST ? malloc(bytes) : NULL;
    if (memory) blocks[block_count++] = (Block){ *start = (Address)memory, bytes, 0, stream->device, 0 };
    pthread_mutex_unlock(&lock);
    return memory ? OK : OUT_OF_MEMORY;
}
Result cuMemFreeAsync(Address start, Stream *stream) {
    CHECK(spoils(stream));
    pthread_mutex_lock(&lock);
    Block *block = block_of(start, 1);
    if (block) { memset((void *)start, 0xDD, block->bytes); block->freed = 1; }
    pthread_mutex_unlock(&lock);
    return block ? OK : INVALID_VALUE;
}
Result cuMemGetInfo_v2(size_t *available, size_t *total) { *available = *total = (size_t)1 << 30; return OK; }
Result cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
    (void)flags;
    if (!current) return INVALID_CONTEXT;
    pthread_mutex_lock(&lock);
    *memory = pinned_count < MOST ? malloc(bytes) : NULL;
    if (*memory) pinned[pinned_count++] = (Block){ (Address)*memory, bytes, 0, 0, 0 };
    pthread_mutex_unlock(&lock);
    return *memory ? OK : OUT_OF_MEMORY;
}
Result cuMemFreeHost(void *memory) {
    pthread_mutex_lock(&lock);
    for (int k = 0; k < pinned_count; k++) {
        if (pinned[k].freed || pinned[k].start != (Address)memory) continue;
        pinned[k].freed = 1;
        early_frees += pinned[k].last_copy > ended;
    }
    pthread_mutex_unlock(&lock);
    free(memory);
    return OK;
}

// What is known of an address, as far as it was asked for; of memory of nobody's it writes nothing. Memory of a device
// that an address lies in is of the context of that device's stream.
static Result put(int attribute, void *data, int kind, int device, Block block) {
    switch (attribute) {
    case 1: *(int **)data = kind == 2 ? &contexts[device] : NULL; return OK;
    case 2: *(unsigned *)data = (unsigned)kind; return OK;
    case 8: *(unsigned *)data = 0; return OK;
    case 9: *(int *)data = device; return OK;
    case 11: *(Address *)data = block.start; return OK;
    case 12: *(size_t *)data = block.bytes; return OK;
    default: return NOT_SUPPORTED;
    }
}
static Result describe(unsigned count, const int *attributes, void **data, int kind, Block block) {
    for (unsigned k = 0; k < count; k++) CHECK(put(attributes[k], data[k], kind, block.device, block));
    return OK;
}
Result cuPointerGetAttributes(unsigned count, const int *attributes, void **data, Address address) {
    Result code = OK;
    pthread_mutex_lock(&lock);
    for (int k = 0; k < pinned_count + block_count && code == OK; k++) {
        int is_pinned = k < pinned_count;
        Block block = is_pinned ? pinned[k] : blocks[k - pinned_count];
        if (block.freed || address < block.start || address >= block.start + block.bytes) continue;
        code = describe(count, attributes, data, is_pinned ? 1 : 2, block);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

// Notes a copy from or to pinned memory.
static void note_copy(Address address) {
    enqueued++;
    for (int k = 0; k < pinned_count; k++)
        if (!pinned[k].freed && address >= pinned[k].start && address < pinned[k].start + pinned[k].bytes)
            pinned[k].last_copy = enqueued;
}

// A copy whose sides on the device were not freed: at once, or into the graph of the stream.
static Result enqueue(Stream *stream, Copy copy, int to_device, int from_device) {
    CHECK(in_context(stream->device));
    if (stream->captures) {
        if (!pthread_equal(stream->by, pthread_self())) { stream->broken = 1; return CAPTURE_UNSUPPORTED; }
        if (stream->graph->count == MOST) return OUT_OF_MEMORY;
        stream->graph->copies[stream->graph->count++] = copy;
        return OK;
    }
    pthread_mutex_lock(&lock);
    int alive = (!to_device || block_of(copy.to, copy.bytes)) && (!from_device || block_of(copy.from, copy.bytes));
    if (alive) memcpy((void *)copy.to, (void *)copy.from, copy.bytes);
    if (alive) note_copy(to_device ? copy.from : copy.to);
    pthread_mutex_unlock(&lock);
    return alive ? OK : ILLEGAL_ADDRESS;
}
Result cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, Stream *stream) {
    return enqueue(stream, (Copy){ to, (Address)from, bytes }, 1, 0);
}
Result cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, Stream *stream) {
    return enqueue(stream, (Copy){ (Address)to, from, bytes }, 0, 1);
}
Result cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream *stream) {
    return enqueue(stream, (Copy){ to, from, bytes }, 1, 1);
}

// Copies between contexts, of which either may be the stream's.
Result cuMemcpyPeerAsync(Address to, int *to_context, Address from, int *from_context, size_t bytes, Stream *stream) {
    int *own = &contexts[stream->device];
    if (own != to_context && own != from_context) return INVALID_CONTEXT;
    return enqueue(stream, (Copy){ to, from, bytes }, 1, 1);
}

Result cuEventCreate(Event **event, unsigned flags) {
    (void)flags;
    if (!current) return INVALID_CONTEXT;
    *event = calloc(1, sizeof **event);
    return OK;
}
Result cuEventDestroy_v2(Event *event) { free(event); return OK; }
Result cuEventRecord(Event *event, Stream *stream) {
    CHECK(in_context(stream->device));
    if (failing_records > 0) { failing_records--; return OUT_OF_MEMORY; }
    event->captured = stream->captures;
    event->recorded = ++enqueued;
    return OK;
}
// A stream of any context may wait, but no capture for what is outside of it.
Result cuStreamWaitEvent(Stream *stream, Event *event, unsigned flags) {
    if (flags) return INVALID_VALUE;
    if (stream->captures != event->captured) { stream->broken = 1; return CAPTURE_UNSUPPORTED; }
    return in_context(stream->device);
}
Result cuEventSynchronize(Event *event) {
    if (event->captured) return CAPTURED_EVENT;
    if (event->recorded > ended) ended = event->recorded;
    return OK;
}
Result cuEventElapsedTime(float *milliseconds, Event *start, Event *end) { (void)start, (void)end; *milliseconds = 1; return OK; }

Result cuStreamBeginCapture_v2(Stream *stream, int mode) {
    (void)mode;
    CHECK(spoils(stream));
    stream->captures = 1, stream->broken = 0, stream->by = pthread_self();
    stream->graph = calloc(1, sizeof *stream->graph);
    return OK;
}
Result cuStreamEndCapture(Stream *stream, Graph **graph) {
    CHECK(in_context(stream->device));
    *graph = NULL;
    if (!stream->captures) return INVALID_VALUE;
    stream->captures = 0;
    if (stream->broken) { free(stream->graph); return CAPTURE_INVALIDATED; }
    *graph = stream->graph;
    return OK;
}
Result cuGraphInstantiateWithFlags(Graph **made, Graph *graph, unsigned long long flags) {
    (void)flags;
    *made = malloc(sizeof **made);
    **made = *graph;
    return OK;
}
Result cuGraphDestroy(Graph *graph) { free(graph); return OK; }
Result cuGraphExecDestroy(Graph *graph) { free(graph); return OK; }
Result cuGraphLaunch(Graph *graph, Stream *stream) {
    for (int k = 0; k < graph->count; k++) CHECK(enqueue(stream, graph->copies[k], 1, 1));
    return OK;
}

// There are no kernels.
#define NONE(name) Result name(void) { return NOT_SUPPORTED; }
NONE(cuModuleLoadData)
NONE(cuModuleUnload)
NONE(cuModuleGetFunction)
NONE(cuFuncGetAttribute)
NONE(cuFuncSetAttribute)
NONE(cuLaunchKernelEx)
#ifndef WITHOUT_A_FUNCTION
NONE(cuFuncGetParamInfo)
#endif
