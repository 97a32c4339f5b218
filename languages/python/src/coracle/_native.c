/* _native: the C interface as Python functions, with handles as numbers and completions in batches. Python code above it
 * has no other way to the library.
 *
 * The tag of a unary call in a queue is the object that waits for it, of which the call owns a reference; the tags of
 * other operations are numbers. Functions that wait release the interpreter's lock, and on the main thread they let the
 * handlers of signals run, ten times a second: an exception of one, such as KeyboardInterrupt, ends the wait. */
#define Py_LIMITED_API 0x03080000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <coracle.h>
#include <stdint.h>
#include <string.h>

/* The limited API has these two since 3.10. Python 3.8 and 3.9, which do not change any more, have the same function and the
 * same convention of calls outside of it. */
#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif
PyAPI_FUNC(const char*) PyUnicode_AsUTF8AndSize(PyObject* unicode, Py_ssize_t* size);

static PyObject* usage_error; /* coracle.UsageError */

static PyObject* raise(int error) {
  if (error < 0) return NULL; /* an exception is set */
  if (error == CORACLE_OUT_OF_MEMORY) return PyErr_NoMemory();
  PyErr_Format(usage_error, "%s: %s", coracle_error_name(error), coracle_last_error());
  return NULL;
}

/* ---- arguments */

static int number(PyObject* from, uint64_t* to) {
  *to = PyLong_AsUnsignedLongLong(from);
  return *to != (uint64_t)-1 || !PyErr_Occurred();
}
static int signed_number(PyObject* from, int64_t* to) {
  *to = PyLong_AsLongLong(from);
  return *to != -1 || !PyErr_Occurred();
}
/* The library takes texts that end with a zero. */
static int text(PyObject* from, const char** to) {
  Py_ssize_t size = 0;
  *to = PyUnicode_AsUTF8AndSize(from, &size);
  if (!*to) return 0;
  if (strlen(*to) == (size_t)size) return 1;
  PyErr_SetString(PyExc_ValueError, "embedded null character");
  return 0;
}
static int check_count(Py_ssize_t have, Py_ssize_t want) {
  if (have == want) return 1;
  PyErr_Format(PyExc_TypeError, "%zd arguments expected, not %zd", want, have);
  return 0;
}

/* A sequence of (key, value), or None. The strings live as long as the sequence. */
struct pairs {
  PyObject* sequence;
  coracle_pair* list;
  size_t count;
};
static int bytes_of(PyObject* text, const char** bytes, size_t* size) {
  Py_ssize_t length = 0;
  if (PyBytes_Check(text)) {
    char* data = NULL;
    if (PyBytes_AsStringAndSize(text, &data, &length) < 0) return 0;
    *bytes = data;
  } else {
    *bytes = PyUnicode_AsUTF8AndSize(text, &length);
    if (!*bytes) return 0;
  }
  *size = (size_t)length;
  return 1;
}
static void free_pairs(struct pairs* p) {
  PyMem_Free(p->list);
  Py_XDECREF(p->sequence);
}
static int read_pairs(PyObject* from, struct pairs* to) {
  memset(to, 0, sizeof *to);
  if (from == Py_None) return 1;
  to->sequence = PySequence_Tuple(from);
  if (!to->sequence) return 0;
  to->count = (size_t)PyTuple_Size(to->sequence);
  to->list = PyMem_Malloc((to->count + 1) * sizeof *to->list);
  if (!to->list) return free_pairs(to), PyErr_NoMemory() != NULL;
  for (size_t i = 0; i < to->count; ++i) {
    PyObject* pair = PyTuple_GetItem(to->sequence, (Py_ssize_t)i);
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
      PyErr_SetString(PyExc_TypeError, "metadata is a sequence of tuples (key, value)");
      return free_pairs(to), 0;
    }
    coracle_pair* p = &to->list[i];
    if (!bytes_of(PyTuple_GetItem(pair, 0), &p->key, &p->key_size) ||
        !bytes_of(PyTuple_GetItem(pair, 1), &p->value, &p->value_size))
      return free_pairs(to), 0;
  }
  return 1;
}

/* What every call begins with: channel, path, timeout_ns, metadata, flags. */
struct call_arguments {
  uint64_t channel;
  const char* path;
  struct pairs metadata;
  coracle_call_options options;
};
static int read_call(PyObject* const* args, struct call_arguments* to) {
  uint64_t flags = 0;
  memset(to, 0, sizeof *to);
  to->options.size = sizeof to->options;
  if (!number(args[0], &to->channel) || !text(args[1], &to->path) ||
      !signed_number(args[2], &to->options.timeout_ns) || !number(args[4], &flags) ||
      !read_pairs(args[3], &to->metadata))
    return 0;
  to->options.flags = (uint32_t)flags;
  to->options.metadata = to->metadata.list;
  to->options.metadata_count = to->metadata.count;
  return 1;
}

/* ---- results */

/* What a peer has sent as text, which is ASCII if the peer is correct. */
static PyObject* received_text(const char* bytes, size_t size) {
  return PyUnicode_DecodeUTF8(bytes ? bytes : "", (Py_ssize_t)size, "replace");
}

static PyObject* tuple_of_pairs(const coracle_pair* pairs, size_t count) {
  PyObject* all = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; all && i < count; ++i) {
    const coracle_pair* p = &pairs[i];
    const int binary = p->key_size > 4 && memcmp(p->key + p->key_size - 4, "-bin", 4) == 0;
    PyObject* value = binary ? PyBytes_FromStringAndSize(p->value, (Py_ssize_t)p->value_size)
                             : received_text(p->value, p->value_size);
    PyObject* one = value ? Py_BuildValue("(NN)", received_text(p->key, p->key_size), value) : NULL;
    if (!one) return Py_DECREF(all), NULL;
    PyTuple_SetItem(all, (Py_ssize_t)i, one);
  }
  return all;
}

/* (status, message or None, None or (text, details, initial metadata, trailing metadata)) */
static PyObject* outcome_of(const coracle_event* e) {
  PyObject* message = Py_None;
  PyObject* rest = Py_None;
  if (e->has_message) {
    message = PyBytes_FromStringAndSize(e->message, (Py_ssize_t)e->message_size);
  } else {
    Py_INCREF(message);
  }
  if (e->status || e->initial_metadata_count || e->trailing_metadata_count) {
    PyObject* initial = tuple_of_pairs(e->initial_metadata, e->initial_metadata_count);
    PyObject* trailing = initial ? tuple_of_pairs(e->trailing_metadata, e->trailing_metadata_count) : NULL;
    PyObject* text = received_text(e->status_text, e->status_text_size);
    rest = NULL;
    if (initial && trailing && text)
      rest = Py_BuildValue("(Oy#OO)", text, e->status_details ? e->status_details : "", (Py_ssize_t)e->status_details_size,
                           initial, trailing);
    Py_XDECREF(initial);
    Py_XDECREF(trailing);
    Py_XDECREF(text);
  } else {
    Py_INCREF(rest);
  }
  if (!message || !rest) {
    Py_XDECREF(message);
    Py_XDECREF(rest);
    return NULL;
  }
  return Py_BuildValue("(iNN)", (int)e->status, message, rest);
}

static PyObject* finish(int error, coracle_event* e) {
  if (error) return raise(error);
  PyObject* made = outcome_of(e);
  coracle_event_release(e);
  return made;
}

/* ---- runtimes, channels, queues */

static PyObject* version(PyObject* self, PyObject* unused) {
  (void)self, (void)unused;
  return Py_BuildValue("(sI)", coracle_version(), (unsigned int)coracle_abi_version());
}

/* The queue of operations that the main thread waits for. A handler of a signal may call, too, while one waits: it has
 * another one then. 0: it is in use, or there is none yet. */
static uint64_t idle_queue;

static PyObject* shut_down(PyObject* self, PyObject* unused) {
  (void)self, (void)unused;
  int error = 0;
  idle_queue = 0; /* it belongs to the runtime that ends */
  Py_BEGIN_ALLOW_THREADS
  error = coracle_shutdown();
  Py_END_ALLOW_THREADS
  if (error && error != CORACLE_FORKED) return raise(error);
  Py_RETURN_NONE;
}

/* A sequence of (name, value). The strings live as long as the pairs. */
struct options {
  struct pairs pairs;
  coracle_option* list;
};
static void free_options(struct options* o) {
  PyMem_Free(o->list);
  free_pairs(&o->pairs);
}
static int read_options(PyObject* from, struct options* to) {
  to->list = NULL;
  if (!read_pairs(from, &to->pairs)) return 0;
  to->list = PyMem_Malloc((to->pairs.count + 1) * sizeof *to->list);
  if (!to->list) return free_options(to), PyErr_NoMemory() != NULL;
  for (size_t i = 0; i < to->pairs.count; ++i) {
    const coracle_pair* o = &to->pairs.list[i];
    to->list[i].name = o->key;
    to->list[i].value = o->value;
    if (memchr(o->key, 0, o->key_size) || memchr(o->value, 0, o->value_size)) {
      PyErr_Format(PyExc_ValueError, "the option %s has an embedded null character", o->key);
      return free_options(to), 0;
    }
  }
  return 1;
}

/* channel_create(target, ((name, value), ...)) */
static PyObject* channel_create(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  (void)self;
  struct options options;
  coracle_channel made = 0;
  const char* target = NULL;
  if (!check_count(count, 2) || !text(args[0], &target) || !read_options(args[1], &options)) return NULL;
  const int error = coracle_channel_create(0, target, options.list, options.pairs.count, &made);
  free_options(&options);
  if (error) return raise(error);
  return PyLong_FromUnsignedLongLong(made);
}

static PyObject* with_handle(PyObject* handle, int (*function)(uint64_t)) {
  uint64_t of = 0;
  if (!number(handle, &of)) return NULL;
  const int error = function(of);
  if (error) return raise(error);
  Py_RETURN_NONE;
}
static PyObject* channel_destroy(PyObject* self, PyObject* channel) {
  (void)self;
  return with_handle(channel, coracle_channel_destroy);
}
static PyObject* channel_close(PyObject* self, PyObject* channel) {
  (void)self;
  return with_handle(channel, coracle_channel_close);
}
static PyObject* call_cancel(PyObject* self, PyObject* call) {
  (void)self;
  return with_handle(call, coracle_call_cancel);
}
static PyObject* call_release(PyObject* self, PyObject* call) {
  (void)self;
  return with_handle(call, coracle_call_release);
}
static PyObject* writes_done(PyObject* self, PyObject* call) {
  (void)self;
  return with_handle(call, coracle_writes_done);
}

/* queue_create(with a descriptor?) -> (handle, descriptor) */
static PyObject* queue_create(PyObject* self, PyObject* descriptor) {
  (void)self;
  coracle_queue_options o = {.size = sizeof o, .descriptor = PyObject_IsTrue(descriptor)};
  coracle_queue made = 0;
  const int error = coracle_queue_create(0, &o, &made);
  if (error) return raise(error);
  return Py_BuildValue("(Ki)", (unsigned long long)made, coracle_queue_descriptor(made));
}
static PyObject* queue_destroy(PyObject* self, PyObject* queue) {
  (void)self;
  uint64_t of = 0;
  int error = 0;
  if (!number(queue, &of)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  error = coracle_queue_destroy(of);
  Py_END_ALLOW_THREADS
  if (error) return raise(error);
  Py_RETURN_NONE;
}

/* ---- waiting */

static unsigned long main_thread; /* the handlers of signals run there alone */
static int may_be_interrupted(void) { return PyThread_get_thread_ident() == main_thread; }

/* Waits as coracle_queue_wait() does. -1: a handler of a signal has raised an exception. */
static int wait_for_events(uint64_t queue, int64_t timeout_ns, coracle_event* events, size_t max, size_t* count) {
  const int64_t slice_ns = 100000000;
  const int sliced = may_be_interrupted();
  for (;;) {
    const int64_t now_ns = sliced && timeout_ns > slice_ns ? slice_ns : timeout_ns;
    int error = 0;
    Py_BEGIN_ALLOW_THREADS
    error = coracle_queue_wait(queue, now_ns, events, sizeof *events, max, count);
    Py_END_ALLOW_THREADS
    if (error != CORACLE_TIMED_OUT) return error;
    if (sliced && PyErr_CheckSignals() < 0) return -1;
    if (timeout_ns == now_ns) return CORACLE_TIMED_OUT;
    if (timeout_ns != INT64_MAX) timeout_ns -= now_ns;
  }
}

static int begin_wait(uint64_t* queue) {
  *queue = idle_queue;
  idle_queue = 0;
  if (*queue) return CORACLE_OK;
  const coracle_queue_options o = {.size = sizeof o};
  return coracle_queue_create(0, &o, queue);
}
static void end_wait(uint64_t queue) {
  if (!idle_queue) idle_queue = queue;
  else coracle_queue_destroy(queue);
}

/* Waits for the event of an operation of `call` that ends in a queue of begin_wait(). An exception of a signal's handler
 * cancels the call first. */
static int wait_for_event(uint64_t queue, coracle_call call, coracle_event* e) {
  size_t count = 0;
  const int error = wait_for_events(queue, INT64_MAX, e, 1, &count);
  if (error >= 0) return error;
  coracle_call_cancel(call);
  Py_BEGIN_ALLOW_THREADS
  if (coracle_queue_wait(queue, INT64_MAX, e, sizeof *e, 1, &count) == CORACLE_OK) coracle_event_release(e);
  Py_END_ALLOW_THREADS
  return error;
}

/* (call, request or None, path, peer, metadata, the time that is left in ns) */
static PyObject* request_of(const coracle_event* e) {
  PyObject* metadata = tuple_of_pairs(e->initial_metadata, e->initial_metadata_count);
  PyObject* path = received_text(e->method, e->method_size);
  PyObject* peer = received_text(e->peer, e->peer_size);
  PyObject* message = e->has_message ? PyBytes_FromStringAndSize(e->message, (Py_ssize_t)e->message_size) : Py_None;
  if (!e->has_message) Py_INCREF(message);
  if (!metadata || !path || !peer || !message) {
    Py_XDECREF(metadata);
    Py_XDECREF(path);
    Py_XDECREF(peer);
    Py_XDECREF(message);
    return NULL;
  }
  return Py_BuildValue("(KNNNNL)", (unsigned long long)e->call, message, path, peer, metadata, (long long)e->timeout_ns);
}

static PyObject* result_of(const coracle_event* e) {
  if (e->kind == CORACLE_EVENT_REQUEST) return request_of(e);
  if (e->kind == CORACLE_EVENT_ENDED) return PyLong_FromUnsignedLongLong(e->call);
  return outcome_of(e);
}

/* queue_take(queue, timeout_ns) -> [(waiter or tag, kind, outcome), ...]; empty if nothing came. 0 does not wait. The
 * outcome of a request is its parts, and of a server's call that has ended its handle. */
static PyObject* queue_take(PyObject* self, PyObject* const* args, Py_ssize_t arguments) {
  (void)self;
  enum { batch = 128 };
  uint64_t queue = 0;
  int64_t timeout_ns = 0;
  coracle_event events[batch];
  size_t count = 0;
  int error = 0;
  if (!check_count(arguments, 2) || !number(args[0], &queue) || !signed_number(args[1], &timeout_ns)) return NULL;
  error = coracle_queue_take(queue, events, sizeof events[0], batch, &count);
  if (!error && !count && timeout_ns > 0) {
    error = wait_for_events(queue, timeout_ns, events, batch, &count);
    if (error == CORACLE_TIMED_OUT) error = 0;
  }
  if (error) return raise(error);
  PyObject* all = PyList_New((Py_ssize_t)count);
  for (size_t i = 0; i < count; ++i) {
    coracle_event* e = &events[i];
    PyObject* waiter = e->kind == CORACLE_EVENT_UNARY ? (PyObject*)(uintptr_t)e->tag : PyLong_FromUnsignedLongLong(e->tag);
    PyObject* outcome = all && waiter ? result_of(e) : NULL;
    PyObject* one = outcome ? Py_BuildValue("(NiN)", waiter, (int)e->kind, outcome) : NULL;
    if (!outcome) Py_XDECREF(waiter);
    if (one) {
      PyList_SetItem(all, (Py_ssize_t)i, one);
    } else {
      Py_CLEAR(all);
    }
    coracle_event_release(e);
  }
  return all;
}

/* ---- calls */

/* unary_wait(channel, path, timeout_ns, metadata, flags, request) -> outcome */
static PyObject* unary_wait(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  (void)self;
  struct call_arguments call;
  char* request = NULL;
  Py_ssize_t size = 0;
  coracle_event e;
  int error = 0;
  if (!check_count(count, 6) || PyBytes_AsStringAndSize(args[5], &request, &size) < 0 || !read_call(args, &call))
    return NULL;
  if (may_be_interrupted()) {
    coracle_completion to = {.size = sizeof to};
    coracle_call made = 0;
    error = begin_wait(&to.queue);
    if (!error) error = coracle_unary(call.channel, call.path, request, (size_t)size, &call.options, &to, &made);
    if (!error) {
      error = wait_for_event(to.queue, made, &e);
      coracle_call_release(made);
    }
    if (to.queue) end_wait(to.queue);
  } else {
    Py_BEGIN_ALLOW_THREADS
    error = coracle_unary_wait(call.channel, call.path, request, (size_t)size, &call.options, &e);
    Py_END_ALLOW_THREADS
  }
  free_pairs(&call.metadata);
  return finish(error, &e);
}

/* unary(channel, path, timeout_ns, metadata, flags, request, queue, waiter) -> the call's handle, to be released */
static PyObject* unary(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  (void)self;
  struct call_arguments call;
  char* request = NULL;
  Py_ssize_t size = 0;
  coracle_completion to = {.size = sizeof to};
  coracle_call made = 0;
  if (!check_count(count, 8) || PyBytes_AsStringAndSize(args[5], &request, &size) < 0 || !number(args[6], &to.queue) ||
      !read_call(args, &call))
    return NULL;
  Py_INCREF(args[7]);
  to.tag = (uint64_t)(uintptr_t)args[7];
  const int error = coracle_unary(call.channel, call.path, request, (size_t)size, &call.options, &to, &made);
  free_pairs(&call.metadata);
  if (error) {
    Py_DECREF(args[7]);
    return raise(error);
  }
  return PyLong_FromUnsignedLongLong(made);
}

/* stream(channel, path, timeout_ns, metadata, flags) -> handle */
static PyObject* stream(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  (void)self;
  struct call_arguments call;
  coracle_call made = 0;
  if (!check_count(count, 5) || !read_call(args, &call)) return NULL;
  const int error = coracle_stream(call.channel, call.path, &call.options, &made);
  free_pairs(&call.metadata);
  if (error) return raise(error);
  return PyLong_FromUnsignedLongLong(made);
}

/* read(call, count, queue, tag) */
static PyObject* read_messages(PyObject* self, PyObject* const* args, Py_ssize_t arguments) {
  (void)self;
  uint64_t call = 0;
  uint64_t count = 0;
  coracle_completion to = {.size = sizeof to};
  if (!check_count(arguments, 4) || !number(args[0], &call) || !number(args[1], &count) || !number(args[2], &to.queue) ||
      !number(args[3], &to.tag))
    return NULL;
  const int error = coracle_read(call, (uint32_t)count, &to);
  if (error) return raise(error);
  Py_RETURN_NONE;
}

/* write(call, message, flags, queue, tag); a queue of 0: no event */
static PyObject* write_message(PyObject* self, PyObject* const* args, Py_ssize_t arguments) {
  (void)self;
  uint64_t call = 0;
  uint64_t flags = 0;
  char* message = NULL;
  Py_ssize_t size = 0;
  coracle_completion to = {.size = sizeof to};
  if (!check_count(arguments, 5) || !number(args[0], &call) || PyBytes_AsStringAndSize(args[1], &message, &size) < 0 ||
      !number(args[2], &flags) || !number(args[3], &to.queue) || !number(args[4], &to.tag))
    return NULL;
  const int error = coracle_write(call, message, (size_t)size, (uint32_t)flags, to.queue ? &to : NULL);
  if (error) return raise(error);
  Py_RETURN_NONE;
}

/* write_wait(call, message, flags) -> outcome */
static PyObject* write_wait(PyObject* self, PyObject* const* args, Py_ssize_t arguments) {
  (void)self;
  uint64_t call = 0;
  uint64_t flags = 0;
  char* message = NULL;
  Py_ssize_t size = 0;
  coracle_event e;
  int error = 0;
  if (!check_count(arguments, 3) || !number(args[0], &call) || PyBytes_AsStringAndSize(args[1], &message, &size) < 0 ||
      !number(args[2], &flags))
    return NULL;
  if (may_be_interrupted()) {
    coracle_completion to = {.size = sizeof to};
    error = begin_wait(&to.queue);
    if (!error) error = coracle_write(call, message, (size_t)size, (uint32_t)flags, &to);
    if (!error) error = wait_for_event(to.queue, call, &e);
    if (to.queue) end_wait(to.queue);
  } else {
    Py_BEGIN_ALLOW_THREADS
    error = coracle_write_wait(call, message, (size_t)size, (uint32_t)flags, &e);
    Py_END_ALLOW_THREADS
  }
  return finish(error, &e);
}

static PyObject* with_completion(PyObject* const* args, Py_ssize_t arguments,
                                 int (*function)(coracle_call, const coracle_completion*)) {
  uint64_t call = 0;
  coracle_completion to = {.size = sizeof to};
  if (!check_count(arguments, 3) || !number(args[0], &call) || !number(args[1], &to.queue) || !number(args[2], &to.tag))
    return NULL;
  const int error = function(call, &to);
  if (error) return raise(error);
  Py_RETURN_NONE;
}
/* headers(call, queue, tag), finish_call(call, queue, tag) */
static PyObject* headers(PyObject* self, PyObject* const* args, Py_ssize_t arguments) {
  (void)self;
  return with_completion(args, arguments, coracle_headers);
}
static PyObject* finish_call(PyObject* self, PyObject* const* args, Py_ssize_t arguments) {
  (void)self;
  return with_completion(args, arguments, coracle_finish);
}

/* ---- servers */

/* server_create(((name, value), ...)) -> handle */
static PyObject* server_create(PyObject* self, PyObject* given) {
  (void)self;
  struct options options;
  coracle_server made = 0;
  if (!read_options(given, &options)) return NULL;
  const int error = coracle_server_create(0, options.list, options.pairs.count, &made);
  free_options(&options);
  if (error) return raise(error);
  return PyLong_FromUnsignedLongLong(made);
}

/* server_method(server, path, unary?, queue, tag) */
static PyObject* server_method(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  (void)self;
  uint64_t server = 0;
  const char* path = NULL;
  coracle_completion to = {.size = sizeof to};
  if (!check_count(count, 5) || !number(args[0], &server) || !text(args[1], &path) || !number(args[3], &to.queue) ||
      !number(args[4], &to.tag))
    return NULL;
  const int kind = PyObject_IsTrue(args[2]) ? CORACLE_METHOD_UNARY : CORACLE_METHOD_STREAM;
  const int error = coracle_server_method(server, path, kind | CORACLE_METHOD_REPORTS_END, &to);
  if (error) return raise(error);
  Py_RETURN_NONE;
}

/* server_listen(server, address, ((name, value), ...)) -> port */
static PyObject* server_listen(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  (void)self;
  uint64_t server = 0;
  const char* address = NULL;
  struct options options;
  uint16_t port = 0;
  int error = 0;
  if (!check_count(count, 3) || !number(args[0], &server) || !text(args[1], &address) || !read_options(args[2], &options))
    return NULL;
  Py_BEGIN_ALLOW_THREADS
  error = coracle_server_listen(server, address, options.list, options.pairs.count, &port);
  Py_END_ALLOW_THREADS
  free_options(&options);
  if (error) return raise(error);
  return PyLong_FromUnsignedLong(port);
}

/* server_drain(server, grace_ns, queue, tag) */
static PyObject* server_drain(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  (void)self;
  uint64_t server = 0;
  int64_t grace_ns = 0;
  coracle_completion to = {.size = sizeof to};
  if (!check_count(count, 4) || !number(args[0], &server) || !signed_number(args[1], &grace_ns) ||
      !number(args[2], &to.queue) || !number(args[3], &to.tag))
    return NULL;
  const int error = coracle_server_drain(server, grace_ns, &to);
  if (error) return raise(error);
  Py_RETURN_NONE;
}

static PyObject* server_destroy(PyObject* self, PyObject* server) {
  (void)self;
  uint64_t of = 0;
  int error = 0;
  if (!number(server, &of)) return NULL;
  Py_BEGIN_ALLOW_THREADS
  error = coracle_server_destroy(of);
  Py_END_ALLOW_THREADS
  if (error) return raise(error);
  Py_RETURN_NONE;
}

/* answer(call, status, text, details, reply or None, trailing metadata): answers and releases the call, unless it raises */
static PyObject* answer(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  (void)self;
  uint64_t call = 0;
  int64_t status = 0;
  struct pairs trailing;
  coracle_answer a = {.size = sizeof a};
  const char* reply = NULL;
  if (!check_count(count, 6) || !number(args[0], &call) || !signed_number(args[1], &status) ||
      !bytes_of(args[2], &a.status_text, &a.status_text_size) ||
      !bytes_of(args[3], &a.status_details, &a.status_details_size))
    return NULL;
  if (args[4] != Py_None) {
    char* data = NULL;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(args[4], &data, &size) < 0) return NULL;
    reply = data;
    a.message_size = (size_t)size;
    a.has_message = 1;
  }
  if (!read_pairs(args[5], &trailing)) return NULL;
  a.message = reply;
  a.status = (int32_t)status;
  a.trailing_metadata = trailing.list;
  a.trailing_metadata_count = trailing.count;
  int error = coracle_answer_call(call, &a);
  free_pairs(&trailing);
  if (!error) error = coracle_call_release(call);
  if (error) return raise(error);
  Py_RETURN_NONE;
}

/* send_headers(call, metadata) */
static PyObject* send_headers(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  (void)self;
  uint64_t call = 0;
  struct pairs metadata;
  if (!check_count(count, 2) || !number(args[0], &call) || !read_pairs(args[1], &metadata)) return NULL;
  const int error = coracle_send_headers(call, metadata.list, metadata.count);
  free_pairs(&metadata);
  if (error) return raise(error);
  Py_RETURN_NONE;
}

/* call_security(call) -> ((key, value), ...); values are bytes */
static PyObject* call_security(PyObject* self, PyObject* call) {
  (void)self;
  uint64_t of = 0;
  const coracle_pair* pairs = NULL;
  size_t count = 0;
  if (!number(call, &of)) return NULL;
  const int error = coracle_call_security(of, &pairs, &count);
  if (error) return raise(error);
  PyObject* all = PyTuple_New((Py_ssize_t)count);
  for (size_t i = 0; all && i < count; ++i) {
    const coracle_pair* p = &pairs[i];
    PyObject* one = Py_BuildValue("(Ny#)", received_text(p->key, p->key_size), p->value ? p->value : "",
                                  (Py_ssize_t)p->value_size);
    if (!one) return Py_DECREF(all), NULL;
    PyTuple_SetItem(all, (Py_ssize_t)i, one);
  }
  return all;
}

static PyObject* option_names(PyObject* self, PyObject* kind) {
  (void)self;
  const char* of = NULL;
  PyObject* all = text(kind, &of) ? PyList_New(0) : NULL;
  const char* name = NULL;
  for (size_t i = 0; all && (name = coracle_option_name(of, i)); ++i) {
    PyObject* text = PyUnicode_FromString(name);
    if (!text || PyList_Append(all, text) < 0) Py_CLEAR(all);
    Py_XDECREF(text);
  }
  return all;
}

#define FAST(name, function) {name, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL}
static PyMethodDef methods[] = {
    {"version", version, METH_NOARGS, NULL},
    {"shut_down", shut_down, METH_NOARGS, NULL},
    {"option_names", option_names, METH_O, NULL},
    FAST("channel_create", channel_create),
    {"channel_destroy", channel_destroy, METH_O, NULL},
    {"channel_close", channel_close, METH_O, NULL},
    {"queue_create", queue_create, METH_O, NULL},
    {"queue_destroy", queue_destroy, METH_O, NULL},
    FAST("queue_take", queue_take),
    FAST("unary_wait", unary_wait),
    FAST("unary", unary),
    FAST("stream", stream),
    FAST("read", read_messages),
    FAST("write", write_message),
    FAST("write_wait", write_wait),
    {"writes_done", writes_done, METH_O, NULL},
    FAST("headers", headers),
    FAST("finish", finish_call),
    {"server_create", server_create, METH_O, NULL},
    FAST("server_method", server_method),
    FAST("server_listen", server_listen),
    FAST("server_drain", server_drain),
    {"server_destroy", server_destroy, METH_O, NULL},
    FAST("answer", answer),
    FAST("send_headers", send_headers),
    {"call_security", call_security, METH_O, NULL},
    {"call_cancel", call_cancel, METH_O, NULL},
    {"call_release", call_release, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "coracle._native", NULL, -1, methods, NULL, NULL, NULL, NULL};

/* threading.main_thread().ident; 0 on failure. */
static unsigned long ident_of_main_thread(void) {
  PyObject* threading = PyImport_ImportModule("threading");
  PyObject* thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
  PyObject* ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
  const unsigned long found = ident ? PyLong_AsUnsignedLong(ident) : 0;
  Py_XDECREF(ident);
  Py_XDECREF(thread);
  Py_XDECREF(threading);
  return PyErr_Occurred() ? 0 : found;
}

PyMODINIT_FUNC PyInit__native(void) {
  PyObject* made = PyModule_Create(&module);
  if (!made) return NULL;
  main_thread = ident_of_main_thread();
  if (!main_thread) return Py_DECREF(made), NULL;
  usage_error = PyErr_NewExceptionWithDoc("coracle.UsageError", "A function of the library was used wrongly, or cannot go on.",
                                          PyExc_RuntimeError, NULL);
  if (!usage_error || PyObject_SetAttrString(made, "UsageError", usage_error) < 0) return Py_DECREF(made), NULL;
  if (coracle_abi_version() != CORACLE_ABI_VERSION) {
    PyErr_Format(PyExc_ImportError, "libcoracle_c has the interface %u, and this module needs %u",
                 (unsigned int)coracle_abi_version(), (unsigned int)CORACLE_ABI_VERSION);
    return Py_DECREF(made), NULL;
  }
  return made;
}
