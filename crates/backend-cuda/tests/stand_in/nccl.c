// A stand-in for NCCL's library over that of the driver: a send and a receive that have found each other are a copy.
// As in NCCL, calls of a group are enqueued at its end, and nobody waits for another rank.

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };
enum { MOST = 256 };

typedef struct { int rank, ranks, ended; } Communicator;
typedef struct { Communicator *by; int peer, receives; char *bytes; size_t count; } Call;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Call waiting[MOST];
static int waiting_count;
static _Thread_local Call group[MOST];
static _Thread_local int group_count, depth;

int ncclGetVersion(int *version) { *version = 22803; return OK; }
const char *ncclGetErrorString(int code) { return code == INVALID_USAGE ? "invalid usage" : "invalid argument"; }

int ncclCommInitAll(Communicator **made, int count, const int *devices) {
    for (int k = 0; k < count; k++) {
        for (int j = 0; j < k; j++) if (devices[j] == devices[k]) return INVALID_USAGE;
        made[k] = calloc(1, sizeof **made);
        *made[k] = (Communicator){ k, count, 0 };
    }
    return OK;
}

// Ranks that call with one number; the others of a job are threads, too.
typedef struct { char bytes[128]; } UniqueId;

int ncclGetUniqueId(UniqueId *id) {
    for (int k = 0; k < 128; k++) id->bytes[k] = (char)(3 * k + 1);
    return OK;
}

int ncclCommInitRank(Communicator **made, int ranks, UniqueId id, int rank) {
    static pthread_cond_t joined = PTHREAD_COND_INITIALIZER;
    static int count;
    UniqueId expected;
    ncclGetUniqueId(&expected);
    if (memcmp(&id, &expected, sizeof id) || rank < 0 || rank >= ranks) return INVALID_ARGUMENT;
    *made = calloc(1, sizeof **made);
    **made = (Communicator){ rank, ranks, 0 };
    pthread_mutex_lock(&lock);
    int last = (count / ranks + 1) * ranks;
    if (++count == last) pthread_cond_broadcast(&joined);
    while (count < last) pthread_cond_wait(&joined, &lock);
    pthread_mutex_unlock(&lock);
    return OK;
}

int ncclCommAbort(Communicator *communicator) {
    pthread_mutex_lock(&lock);
    int left = 0;
    for (int k = 0; k < waiting_count; k++) if (waiting[k].by != communicator) waiting[left++] = waiting[k];
    waiting_count = left;
    communicator->ended = 1;
    pthread_mutex_unlock(&lock);
    return OK;
}

int ncclGroupStart(void) { depth++; return OK; }

static int post(Call call) {
    for (int k = 0; k < waiting_count; k++) {
        Call other = waiting[k];
        if (other.by->rank != call.peer || other.peer != call.by->rank || other.receives == call.receives) continue;
        if (other.count != call.count) return INVALID_ARGUMENT;
        memcpy(call.receives ? call.bytes : other.bytes, call.receives ? other.bytes : call.bytes, call.count);
        if (call.receives) free(other.bytes);
        memmove(&waiting[k], &waiting[k + 1], (size_t)(--waiting_count - k) * sizeof(Call));
        return OK;
    }
    if (waiting_count == MOST) return INVALID_USAGE;
    // The sender's stream would keep the bytes; here its memory is freed at once.
    if (!call.receives) call.bytes = memcpy(malloc(call.count), call.bytes, call.count);
    waiting[waiting_count++] = call;
    return OK;
}

int ncclGroupEnd(void) {
    if (--depth) return OK;
    int code = OK;
    pthread_mutex_lock(&lock);
    for (int k = 0; k < group_count && code == OK; k++) code = group[k].by->ended ? INVALID_USAGE : post(group[k]);
    pthread_mutex_unlock(&lock);
    group_count = 0;
    return code;
}

static int add(Call call, int type) {
    if (!depth || group_count == MOST) return INVALID_USAGE;
    if (type != 1 || call.peer < 0 || call.peer >= call.by->ranks) return INVALID_ARGUMENT;
    group[group_count++] = call;
    return OK;
}
int ncclSend(const void *bytes, size_t count, int type, int peer, Communicator *by, void *stream) {
    (void)stream;
    return add((Call){ by, peer, 0, (char *)bytes, count }, type);
}
int ncclRecv(void *bytes, size_t count, int type, int peer, Communicator *by, void *stream) {
    (void)stream;
    return add((Call){ by, peer, 1, bytes, count }, type);
}
