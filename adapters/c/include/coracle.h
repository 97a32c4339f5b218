/* coracle.h: the C interface of Coracle, for C and for every language that can call C.
 *
 * One process-wide library, libcoracle_c.so, whose only symbols are coracle_*. Messages are bytes: the caller encodes
 * and decodes them.
 *
 * Compatibility: functions are added and never changed; structs grow at their end only, and every struct that the
 * caller fills starts with `size`, which the caller sets to sizeof of the struct that it was compiled with. Fields
 * that the caller does not know are zero, and zero always means the default.
 *
 * Errors: every function that can fail returns a coracle_error, and coracle_last_error() explains it. Errors of calls
 * are no errors of functions: they are the `status` of an event.
 *
 * Handles: runtimes, channels, calls, queues and servers are numbers, which are never used again. A handle that was
 * closed, that is of another kind or that never existed gets CORACLE_INVALID_HANDLE. 0 is no handle.
 *
 * Threads: every function may be called from any thread, and several threads may use one handle at once. Functions
 * that wait say so; on a thread of a runtime (in a callback or a wake function) they return
 * CORACLE_WOULD_DEADLOCK.
 *
 * Completion: an operation that is started with a coracle_completion ends with exactly one event, unless its function
 * returned an error, in which case there is none. The event goes to a queue, or to a callback on a thread of the
 * runtime, and never comes before the function that starts the operation has done its work. Functions named ..._wait
 * block the calling thread instead.
 *
 * Buffers: bytes and texts that are passed in are read or copied before the function returns. What an event points to
 * belongs to the library: in a callback until it returns, and of events that were taken from a queue, or returned by
 * a function that waits, until coracle_event_release().
 *
 * fork(): a child process has none of its parent's threads, so the library refuses to work there: every function
 * returns CORACLE_FORKED, if the parent had used the library before. A parent that has not used it leaves it usable
 * by the child.
 */
#ifndef CORACLE_H
#define CORACLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Incremented when a program that was compiled with an older header would no longer work. */
#define CORACLE_ABI_VERSION 1u
/* Returns the CORACLE_ABI_VERSION of the library. */
uint32_t coracle_abi_version(void);
/* Returns the version of the library, such as "0.2.0". */
const char* coracle_version(void);

/* ---- errors */

typedef enum coracle_error {
  CORACLE_OK = 0,
  CORACLE_INVALID_HANDLE = 1,   /* closed, of another kind, or never made */
  CORACLE_INVALID_ARGUMENT = 2, /* a null pointer, an unknown option, a value out of range, a struct too small */
  CORACLE_FORKED = 3,           /* this process was forked from one that used the library */
  CORACLE_OUT_OF_MEMORY = 4,
  CORACLE_WOULD_DEADLOCK = 5, /* a function that waits was called on a thread of a runtime */
  CORACLE_WRONG_STATE = 6,    /* a second answer, a message after the last one, options of a server that listens */
  CORACLE_BUSY = 7,           /* a queue that pending operations need */
  CORACLE_TIMED_OUT = 8,
  CORACLE_SHUT_DOWN = 9, /* the runtime has ended */
  CORACLE_FAILED = 10    /* the system refused: coracle_last_error() has the reason */
} coracle_error;

/* Returns the name of an error, such as "CORACLE_INVALID_HANDLE"; static. */
const char* coracle_error_name(int error);
/* Returns what the latest function of this thread that failed had to say, with the way to fix it. Valid until the
 * next function of the library fails on this thread. */
const char* coracle_last_error(void);
/* Returns the name of a status code of gRPC, such as "NOT_FOUND"; static. "UNKNOWN" for numbers that gRPC has not. */
const char* coracle_status_name(int32_t status);

/* ---- handles and options */

typedef uint64_t coracle_runtime;
typedef uint64_t coracle_channel;
typedef uint64_t coracle_call;
typedef uint64_t coracle_queue;
typedef uint64_t coracle_server;

/* One option, as text. Durations have a unit ("250ms", "30s", "5min", "2h") or are "infinite"; truth is "true" or
 * "false"; sizes are numbers of bytes; lists are separated by commas. An unknown name or an invalid value is
 * CORACLE_INVALID_ARGUMENT, and coracle_last_error() lists what is possible. */
typedef struct coracle_option {
  const char* name;
  const char* value;
} coracle_option;

/* Names the options of a kind of object: "runtime", "channel", "server" or "listener". Returns null at the end of
 * the list, or for another kind; static. */
const char* coracle_option_name(const char* kind, size_t index);

/* ---- the runtime: threads that do the work. Most programs use the default one, which is 0. */

/* Makes a runtime of its own. Options: loops (threads; default 1, 0 is one per core), backend (auto, io_uring or
 * epoll). */
int coracle_runtime_create(const coracle_option* options, size_t count, coracle_runtime* out);
/* Ends every call and server of the runtime (their operations end with CANCELLED or UNAVAILABLE), and joins its
 * threads. Waits.
 * Its channels fail every later call. Events that are in queues stay there. 0 is the default runtime, of which the
 * next use makes a new one. */
int coracle_runtime_destroy(coracle_runtime runtime);
/* Ends all runtimes, as coracle_runtime_destroy() does. The library does this by itself when the process exits. */
int coracle_shutdown(void);

/* ---- events and how they arrive */

/* A pair of metadata. The value of a key that ends in "-bin" is any bytes, of other keys printable ASCII. */
typedef struct coracle_pair {
  const char* key;
  size_t key_size;
  const char* value;
  size_t value_size;
} coracle_pair;

enum {
  CORACLE_EVENT_UNARY = 1,   /* a unary call has ended; a message if the status is OK */
  CORACLE_EVENT_READ = 2,    /* a message; without a message: no more will come, and status tells why */
  CORACLE_EVENT_WRITE = 3,   /* a message was sent, or status tells why not */
  CORACLE_EVENT_HEADERS = 4, /* the initial metadata has arrived, or the call ended without any */
  CORACLE_EVENT_FINISH = 5,  /* a streaming call has ended */
  CORACLE_EVENT_REQUEST = 6, /* a server has received a call */
  CORACLE_EVENT_ENDED = 7,   /* a server's call has ended before it was answered, and status tells why */
  CORACLE_EVENT_DRAINED = 8  /* a server has no connection left */
};

/* How an operation ended. Texts and bytes are not terminated by a zero; a pointer is null if there is nothing. */
typedef struct coracle_event {
  uint32_t size;
  uint32_t kind;     /* CORACLE_EVENT_... */
  uint64_t tag;      /* coracle_completion::tag */
  coracle_call call; /* the call, unless it is a unary call without a handle */
  int32_t status;    /* the status code of gRPC; 0 is OK */
  int32_t has_message;
  const char* message; /* the message, decompressed; message_size may be 0 */
  size_t message_size;
  const char* status_text;
  size_t status_text_size;
  const char* status_details; /* the bytes of a google.rpc.Status */
  size_t status_details_size;
  const coracle_pair* initial_metadata; /* of UNARY, HEADERS, FINISH, and the last READ; the client's, of REQUEST */
  size_t initial_metadata_count;
  const coracle_pair* trailing_metadata; /* of UNARY, FINISH, and the last READ */
  size_t trailing_metadata_count;
  const char* method; /* of REQUEST: "/package.Service/Method" */
  size_t method_size;
  const char* peer; /* of REQUEST: the client's address */
  size_t peer_size;
  int64_t timeout_ns; /* of REQUEST: the time that is left; INT64_MAX is without limit */
  void* owner;        /* for coracle_event_release() */
} coracle_event;

/* Frees what an event points to. For events taken from a queue or returned by a function that waits; each once. The
 * event itself is the caller's memory; `owner` is set to null, so that a second release does nothing. The event of a
 * callback has no owner: releasing it, or a copy of it, does nothing. */
void coracle_event_release(coracle_event* event);
/* The same for `count` events that lie `event_size` bytes apart. */
void coracle_events_release(coracle_event* events, size_t event_size, size_t count);

/* A callback runs on a thread of the runtime, with no lock held. It may call every function that does not wait. What
 * it takes long for delays the other calls of that thread. The event ends with the callback, without being released. An
 * exception of a callback in C++ is logged with the method and ends the call: a server's with UNKNOWN, a stream of a
 * client with CANCELLED. */
typedef void (*coracle_callback)(const coracle_event* event, void* context);

/* Where the event of an operation goes: to `queue`, or to `callback`. Exactly one of them is set. */
typedef struct coracle_completion {
  uint32_t size;
  coracle_queue queue;
  uint64_t tag; /* the caller's, passed back in coracle_event::tag */
  coracle_callback callback;
  void* context;
} coracle_completion;

typedef struct coracle_queue_options {
  uint32_t size;
  /* Whether the queue has a descriptor: coracle_queue_descriptor(). */
  int32_t descriptor;
  /* Called when the queue was empty and no longer is, on any thread, with no lock held; it may call
   * coracle_queue_take(), but not coracle_queue_destroy(). It must not throw. Null: none. libuv's uv_async_send can be passed with its
   * handle. */
  void (*wake)(void* context);
  void* context;
} coracle_queue_options;

/* Makes a queue on a runtime. `options` may be null. */
int coracle_queue_create(coracle_runtime runtime, const coracle_queue_options* options, coracle_queue* out);
/* Takes up to `max` events without waiting, in the order of completion of each call; *count is set to their number, 0
 * included. `event_size` is sizeof(coracle_event). Any number of threads may take. */
int coracle_queue_take(coracle_queue queue, coracle_event* events, size_t event_size, size_t max, size_t* count);
/* Waits for the first event, at most `timeout_ns` (INT64_MAX: without limit), then takes what is there. Waits.
 * CORACLE_TIMED_OUT if nothing came. */
int coracle_queue_wait(coracle_queue queue, int64_t timeout_ns, coracle_event* events, size_t event_size, size_t max,
                       size_t* count);
/* Returns the descriptor, which poll(2) reports as readable while the queue has events; it may also be readable
 * without any. coracle_queue_take() clears it: the caller neither reads nor closes it. -1 if the queue was made
 * without one or the handle is invalid. */
int coracle_queue_descriptor(coracle_queue queue);
/* Destroys a queue and the events in it. CORACLE_BUSY while an operation is pending that will complete there, or a
 * server uses it: cancel them and take their events first. After it has returned the wake function is not called any
 * more. */
int coracle_queue_destroy(coracle_queue queue);

/* ---- channels */

/* Makes a channel to `target` ("host:port", "dns:///host:port", "unix:/path", ...). CORACLE_INVALID_ARGUMENT if it cannot
 * be a target; whether a server is there shows when it is called.
 *
 * The option `credentials` is required: "insecure" or "tls". The other options are those of coracle::channel_options
 * by their names (keepalive.time, balance, service_config, ...), of its calls (calls.timeout, ...), and of
 * coracle::tls::client_options (tls.ca, tls.ca_file, tls.certificate_file, tls.key_file, tls.target_name, ...).
 * docs/guides/c.md lists them. */
int coracle_channel_create(coracle_runtime runtime, const char* target, const coracle_option* options, size_t count,
                           coracle_channel* out);
/* Closes the handle. Calls in progress continue to their ends; then the connections close. Does not wait. */
int coracle_channel_destroy(coracle_channel channel);
/* Ends the calls in progress with UNAVAILABLE and closes the connections. The handle stays. */
int coracle_channel_close(coracle_channel channel);

/* ---- calls: the client's side */

enum {
  CORACLE_WAIT_FOR_READY = 1 /* wait for a connection instead of failing at once with UNAVAILABLE */
};

/* The options of a call. Null, and every field that is zero: what the channel's options say. */
typedef struct coracle_call_options {
  uint32_t size;
  uint32_t flags; /* CORACLE_WAIT_FOR_READY */
  /* How long the whole call may take from now, queueing and connecting included; 0: the channel's calls.timeout. A
   * negative time has passed: the call ends with DEADLINE_EXCEEDED. INT64_MAX: without limit. */
  int64_t timeout_ns;
  const coracle_pair* metadata;
  size_t metadata_count;
  uint32_t max_receive_bytes;
  uint32_t max_send_bytes;
  const char* bearer_token;    /* sent as "authorization: Bearer ..."; over TLS only */
  const char* compression;     /* "gzip", "zstd", ... or "identity" */
  const char* content_subtype; /* the encoding of the bytes, if it is not protobuf's: "json" */
} coracle_call_options;

/* The `path` of a method is "/package.Service/Method". One that HTTP cannot carry (without the slash, or with a space, a
 * line end, "#" or bytes that are not printable ASCII) is CORACLE_INVALID_ARGUMENT. */

/* Starts a unary call: the event CORACLE_EVENT_UNARY has its outcome. `call` may be null; otherwise it gets a handle
 * for coracle_call_cancel(), to be closed with coracle_call_release(). */
int coracle_unary(coracle_channel channel, const char* path, const void* request, size_t request_size,
                  const coracle_call_options* options, const coracle_completion* completion, coracle_call* call);
/* Makes a unary call and waits for its event, to be released by the caller. Waits. */
int coracle_unary_wait(coracle_channel channel, const char* path, const void* request, size_t request_size,
                       const coracle_call_options* options, coracle_event* event);

/* Begins a call with any number of messages each way; of the client-streaming, server-streaming and unary kinds, too,
 * whose single message is written or read as one of a stream. The call lasts until coracle_call_release(). */
int coracle_stream(coracle_channel channel, const char* path, const coracle_call_options* options,
                   coracle_call* call);

/* Ends a call with CANCELLED, unless it has ended: its operations still end with their events. For a server's call:
 * answers with CANCELLED. */
int coracle_call_cancel(coracle_call call);
/* Closes the handle of a call. A stream that has not ended is cancelled, a unary call continues, and a server's call
 * that was not answered ends with UNKNOWN. */
int coracle_call_release(coracle_call call);

/* ---- operations of streams, on both sides */

/* Asks for `count` messages: each is an event CORACLE_EVENT_READ, in the order of the messages. If there are fewer, one
 * READ without a message follows, whose status tells why, and is the last one of this request. Messages that are not
 * asked for stay in flow control, so that the peer waits. May be called again at any time: requests queue. */
int coracle_read(coracle_call call, uint32_t count, const coracle_completion* completion);

enum {
  CORACLE_WRITE_LAST = 1,        /* no message follows: of a client's call */
  CORACLE_WRITE_UNCOMPRESSED = 2 /* even if the call compresses */
};
/* Sends a message after those that were written before. The event CORACLE_EVENT_WRITE says that flow control has let
 * it pass, so that a program which waits for it keeps little in memory. `completion` may be null: no event. */
int coracle_write(coracle_call call, const void* message, size_t message_size, uint32_t flags,
                  const coracle_completion* completion);
/* Ends the client's messages, without a message. */
int coracle_writes_done(coracle_call call);
/* Waits for the initial metadata of the server: CORACLE_EVENT_HEADERS. Once for each call. */
int coracle_headers(coracle_call call, const coracle_completion* completion);
/* Ends the client's messages and drops the messages that are not asked for; CORACLE_EVENT_FINISH has the status of
 * the call. Once for each call. */
int coracle_finish(coracle_call call, const coracle_completion* completion);

/* The same, waiting for the event, to be released by the caller. They wait. */
int coracle_read_wait(coracle_call call, coracle_event* event);
int coracle_write_wait(coracle_call call, const void* message, size_t message_size, uint32_t flags,
                       coracle_event* event);
int coracle_headers_wait(coracle_call call, coracle_event* event);
int coracle_finish_wait(coracle_call call, coracle_event* event);

/* ---- servers */

/* Makes a server. The options are those of coracle::server_options by their names: max_receive_bytes, drain_grace,
 * limits.calls, ... */
int coracle_server_create(coracle_runtime runtime, const coracle_option* options, size_t count, coracle_server* out);

enum {
  CORACLE_METHOD_UNARY = 1,  /* REQUEST comes with the request, and the answer has one reply */
  CORACLE_METHOD_STREAM = 2, /* of all other kinds: coracle_read() and coracle_write() */
  /* A flag for either: a call that ends before it was answered, because its client cancelled it or went away, its
   * deadline passed or the server ended it, is also an event CORACLE_EVENT_ENDED, which follows its REQUEST and its other
   * events. The handle is still to be released. An answer that another thread gives meanwhile is dropped. */
  CORACLE_METHOD_REPORTS_END = 16
};
/* Registers a method before the server listens; "*" stands for all methods that are not registered, which else end
 * with UNIMPLEMENTED. Each call of it is an event CORACLE_EVENT_REQUEST, whose `call` is to be answered and
 * released. */
int coracle_server_method(coracle_server server, const char* path, int method_kind,
                          const coracle_completion* completion);
/* Listens on an address ("127.0.0.1:0", "unix:/path") and serves at once. The option `credentials` is required:
 * "insecure" or "tls", the latter with tls.certificate_file, tls.key_file, tls.client_ca_file, ... *port gets the
 * port of this address; it may be null. CORACLE_FAILED if the address cannot be had. May be called several times. */
int coracle_server_listen(coracle_server server, const char* address, const coracle_option* options, size_t count,
                          uint16_t* port);
/* Drains the server: accepts no connection and gives running calls drain_grace to end. Does not wait. */
int coracle_server_stop(coracle_server server);
/* The same with a time of the caller's: calls that still run after `grace_ns` are cancelled (0: at once; INT64_MAX: never).
 * CORACLE_EVENT_DRAINED comes when no call and no connection is left, with a status that is not OK if the runtime ended
 * first. May be called again, with a shorter time for example: each has its event. */
int coracle_server_drain(coracle_server server, int64_t grace_ns, const coracle_completion* completion);
/* Ends the calls that still run, and closes the connections. Waits. */
int coracle_server_destroy(coracle_server server);

/* How a server's call ends. */
typedef struct coracle_answer {
  uint32_t size;
  int32_t status; /* 0 is OK */
  const char* status_text;
  size_t status_text_size;
  const char* status_details; /* the bytes of a google.rpc.Status */
  size_t status_details_size;
  const void* message; /* the reply, or the last one of a stream */
  size_t message_size;
  int32_t has_message; /* required of a unary method with status OK */
  const coracle_pair* trailing_metadata;
  size_t trailing_metadata_count;
} coracle_answer;

/* Ends a server's call, after the messages that were written before: from any thread, once. A second answer is
 * CORACLE_WRONG_STATE. An answer to a call that its client has ended is dropped, and is no error. */
int coracle_answer_call(coracle_call call, const coracle_answer* answer);
/* Sends initial metadata before the first message of a server's call. */
int coracle_send_headers(coracle_call call, const coracle_pair* metadata, size_t count);
/* Lists the security of the connection of a server's call, and the names in its client's certificate, if that was verified:
 * pairs of the keys "type" ("tls"), "protocol", "cipher"; "dns_name", "ip_address", "uri", "email" and "common_name", each
 * any number of times; and "certificates" (PEM, the client's own first). *count is 0 without TLS. The pairs are valid until
 * coracle_call_release(). */
int coracle_call_security(coracle_call call, const coracle_pair** pairs, size_t* count);
/* Sets *ended to 1 if the call has ended: of a server's call, because it was answered or its client ended it. */
int coracle_call_ended(coracle_call call, int* ended);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
#endif /* CORACLE_H */
