/* Programs in C11 against coracle.h: all kinds of call, the three styles of completion, servers, and misuse. */
#define _GNU_SOURCE
#include "cases.h"

#include <coracle.h>
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the first check of a case that fails ends it */

static char wrong[700];
static atomic_int wrong_in_callback;

static void record(int line, const char* what) {
  if (!wrong[0]) snprintf(wrong, sizeof wrong, "line %d: %s (%s)", line, what, coracle_last_error());
}
#define CHECK(condition)            \
  do {                              \
    if (!(condition)) {             \
      record(__LINE__, #condition); \
      return;                       \
    }                               \
  } while (0)
/* What the latest failure has said. */
static int says(const char* text) { return strstr(coracle_last_error(), text) != NULL; }
#define IN_CALLBACK(condition)                                       \
  do {                                                               \
    if (!(condition)) atomic_store(&wrong_in_callback, __LINE__);    \
  } while (0)

static coracle_call_options no_options(void) {
  coracle_call_options o = {.size = sizeof o};
  return o;
}
static const coracle_option plain[] = {{"credentials", "insecure"}};
static const int64_t ms = 1000000;
static const int64_t plenty = 30000000000; /* of what must not take long, in ns */

/* ---- a flag that threads wait for */

struct flag {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int set;
};
#define FLAG_INIT {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0}
static void raise_flag(struct flag* f) {
  pthread_mutex_lock(&f->lock);
  ++f->set;
  pthread_cond_broadcast(&f->changed);
  pthread_mutex_unlock(&f->lock);
}
static void await_flag(struct flag* f, int times) {
  pthread_mutex_lock(&f->lock);
  while (f->set < times) pthread_cond_wait(&f->changed, &f->lock);
  pthread_mutex_unlock(&f->lock);
}

/* ---- a server, written against the interface */

struct case_server {
  coracle_server server;
  coracle_queue later; /* requests that a thread answers */
  pthread_t thread;
  uint16_t port;
  char address[64];
};

static void answer(coracle_call call, int32_t status, const char* text, const void* message, size_t size) {
  coracle_answer a = {.size = sizeof a, .status = status};
  a.status_text = text;
  a.status_text_size = text ? strlen(text) : 0;
  a.message = message;
  a.message_size = size;
  a.has_message = message != NULL || status == 0;
  IN_CALLBACK(coracle_answer_call(call, &a) == CORACLE_OK);
}

// --8<-- [start:handler]
static void on_shout(const coracle_event* request, void* context) {
  coracle_answer reply = {.size = sizeof reply, .has_message = 1};
  reply.message = request->message;
  reply.message_size = request->message_size;
  coracle_answer_call(request->call, &reply); /* or later, from any thread, once */
  coracle_call_release(request->call);
  (void)context;
}
// --8<-- [end:handler]

static void on_say(const coracle_event* e, void* context) {
  (void)context;
  const coracle_pair echoed = {"seen", 4, e->method, e->method_size};
  IN_CALLBACK(coracle_send_headers(e->call, &echoed, 1) == CORACLE_OK);
  answer(e->call, 0, NULL, e->message ? e->message : "", e->message_size);
  IN_CALLBACK(coracle_call_release(e->call) == CORACLE_OK);
}

static void on_fail(const coracle_event* e, void* context) {
  (void)context;
  const coracle_pair trailing[] = {{"reason-bin", 10, "\x00\xff\x7f", 3}, {"retry", 5, "never", 5}};
  coracle_answer a = {.size = sizeof a, .status = 5};
  a.status_text = "no such name";
  a.status_text_size = strlen(a.status_text);
  a.status_details = "\x08\x05";
  a.status_details_size = 2;
  a.trailing_metadata = trailing;
  a.trailing_metadata_count = 2;
  IN_CALLBACK(coracle_answer_call(e->call, &a) == CORACLE_OK);
  IN_CALLBACK(coracle_answer_call(e->call, &a) == CORACLE_WRONG_STATE);
  IN_CALLBACK(says("the call of /t.Echo/Fail was answered twice: answer each call once"));
  IN_CALLBACK(coracle_call_release(e->call) == CORACLE_OK);
}

static struct flag never_began = FLAG_INIT;
static atomic_uint_fast64_t never_call;
static void on_never(const coracle_event* e, void* context) {
  (void)context;
  atomic_store(&never_call, e->call);
  raise_flag(&never_began);
}

/* Replies with who calls, as "key=value;" for each pair but the cipher and the certificates. */
static void on_who(const coracle_event* e, void* context) {
  (void)context;
  const coracle_pair* pairs = NULL;
  size_t count = 0;
  char reply[512];
  int size = 0;
  IN_CALLBACK(coracle_call_security(e->call, &pairs, &count) == CORACLE_OK);
  for (size_t i = 0; i < count; ++i) {
    const coracle_pair* p = &pairs[i];
    if (p->key_size == 6 && memcmp(p->key, "cipher", 6) == 0) continue;
    if (p->key_size == 12 && memcmp(p->key, "certificates", 12) == 0) {
      IN_CALLBACK(p->value_size > 27 && memcmp(p->value, "-----BEGIN CERTIFICATE-----", 27) == 0);
      continue;
    }
    size += snprintf(reply + size, sizeof reply - (size_t)size, "%.*s=%.*s;", (int)p->key_size, p->key, (int)p->value_size,
                     p->value);
  }
  IN_CALLBACK(coracle_call_security(e->call, NULL, &count) == CORACLE_INVALID_ARGUMENT);
  answer(e->call, 0, NULL, reply, (size_t)size);
  IN_CALLBACK(coracle_call_release(e->call) == CORACLE_OK);
}

static void on_forget(const coracle_event* e, void* context) {
  (void)context;
  IN_CALLBACK(coracle_call_release(e->call) == CORACLE_OK);
}

/* Echoes each message of a stream, and ends with OK when the client has. */
static void on_chat_message(const coracle_event* e, void* context) {
  const coracle_completion again = {.size = sizeof again, .callback = on_chat_message, .context = context};
  if (!e->has_message) {
    coracle_answer a = {.size = sizeof a, .status = e->status};
    coracle_answer_call(e->call, &a);
    coracle_call_release(e->call);
    return;
  }
  coracle_write(e->call, e->message, e->message_size, 0, NULL);
  IN_CALLBACK(coracle_read(e->call, 1, &again) == CORACLE_OK);
}
static void on_chat(const coracle_event* e, void* context) {
  const coracle_completion first = {.size = sizeof first, .callback = on_chat_message, .context = context};
  IN_CALLBACK(!e->has_message);
  IN_CALLBACK(coracle_read(e->call, 1, &first) == CORACLE_OK);
}

static void* answer_later(void* context) {
  struct case_server* s = context;
  for (;;) {
    coracle_event e;
    size_t count = 0;
    if (coracle_queue_wait(s->later, INT64_MAX, &e, sizeof e, 1, &count) != CORACLE_OK) return NULL;
    if (e.kind != CORACLE_EVENT_REQUEST) return coracle_event_release(&e), NULL;
    answer(e.call, 0, NULL, e.message ? e.message : "", e.message_size);
    coracle_call_release(e.call);
    coracle_event_release(&e);
  }
}

static int start_server(struct case_server* s, const coracle_option* listener, size_t count) {
  memset(s, 0, sizeof *s);
  if (coracle_server_create(0, NULL, 0, &s->server)) return 0;
  if (coracle_queue_create(0, NULL, &s->later)) return 0;
  const struct {
    const char* path;
    int kind;
    coracle_callback callback;
  } methods[] = {{"/t.Echo/Say", CORACLE_METHOD_UNARY, on_say},     {"/t.Echo/Fail", CORACLE_METHOD_UNARY, on_fail},
                 {"/t.Echo/Never", CORACLE_METHOD_UNARY, on_never}, {"/t.Echo/Forget", CORACLE_METHOD_UNARY, on_forget},
                 {"/t.Echo/Chat", CORACLE_METHOD_STREAM, on_chat},  {"/t.Echo/Later", CORACLE_METHOD_UNARY, NULL},
                 {"/t.Echo/Who", CORACLE_METHOD_UNARY, on_who}};
  for (size_t i = 0; i < sizeof methods / sizeof methods[0]; ++i) {
    const coracle_completion to = {.size = sizeof to,
                                   .queue = methods[i].callback ? 0 : s->later,
                                   .callback = methods[i].callback};
    if (coracle_server_method(s->server, methods[i].path, methods[i].kind, &to)) return 0;
  }
  if (coracle_server_listen(s->server, "127.0.0.1:0", listener, count, &s->port)) return 0;
  snprintf(s->address, sizeof s->address, "127.0.0.1:%d", s->port);
  return pthread_create(&s->thread, NULL, answer_later, s) == 0;
}

/* Ends the thread by an event of another kind than a request. */
static void stop_server(struct case_server* s) {
  coracle_channel channel = 0;
  coracle_call call = 0;
  const coracle_completion end = {.size = sizeof end, .queue = s->later};
  coracle_channel_create(0, s->address, plain, 1, &channel);
  coracle_call_options at_once = no_options();
  at_once.timeout_ns = -1;
  coracle_unary(channel, "/t.Echo/Say", NULL, 0, &at_once, &end, NULL);
  pthread_join(s->thread, NULL);
  coracle_channel_destroy(channel);
  (void)call;
  coracle_server_destroy(s->server);
  if (coracle_queue_destroy(s->later) != CORACLE_OK) record(__LINE__, "the queue of a server cannot be destroyed");
}

static struct case_server echo;
static coracle_channel to_echo;

static coracle_channel channel_to(const char* address) {
  coracle_channel made = 0;
  if (coracle_channel_create(0, address, plain, 1, &made) != CORACLE_OK) record(__LINE__, "no channel");
  return made;
}

static int is(const char* bytes, size_t size, const char* text) {
  return size == strlen(text) && (size == 0 || memcmp(bytes, text, size) == 0);
}

/* ---- unary calls */

static void unary_by_waiting(void) {
  coracle_event e;
  coracle_call_options o = no_options();
  const coracle_pair sent = {"name", 4, "ada", 3};
  o.timeout_ns = plenty;
  o.metadata = &sent;
  o.metadata_count = 1;
  CHECK(coracle_unary_wait(to_echo, "/t.Echo/Say", "hello", 5, &o, &e) == CORACLE_OK);
  CHECK(e.kind == CORACLE_EVENT_UNARY && e.status == 0 && e.has_message);
  CHECK(is(e.message, e.message_size, "hello"));
  CHECK(e.initial_metadata_count >= 1);
  int seen = 0;
  for (size_t i = 0; i < e.initial_metadata_count; ++i)
    seen += is(e.initial_metadata[i].key, e.initial_metadata[i].key_size, "seen") &&
            is(e.initial_metadata[i].value, e.initial_metadata[i].value_size, "/t.Echo/Say");
  CHECK(seen == 1);
  coracle_event_release(&e);
  coracle_event_release(&e); /* does nothing */
  CHECK(e.owner == NULL);
  CHECK(coracle_unary_wait(to_echo, "/t.Echo/Say", NULL, 0, NULL, &e) == CORACLE_OK);
  CHECK(e.status == 0 && e.has_message && e.message_size == 0);
  coracle_event_release(&e);
}

static void a_status_with_details_and_trailing_metadata(void) {
  coracle_event e;
  CHECK(coracle_unary_wait(to_echo, "/t.Echo/Fail", "x", 1, NULL, &e) == CORACLE_OK);
  CHECK(e.status == 5 && !e.has_message);
  CHECK(strcmp(coracle_status_name(e.status), "NOT_FOUND") == 0);
  CHECK(is(e.status_text, e.status_text_size, "no such name"));
  CHECK(e.status_details_size == 2 && memcmp(e.status_details, "\x08\x05", 2) == 0);
  int seen = 0;
  for (size_t i = 0; i < e.trailing_metadata_count; ++i) {
    const coracle_pair* p = &e.trailing_metadata[i];
    seen += is(p->key, p->key_size, "reason-bin") && p->value_size == 3 && memcmp(p->value, "\x00\xff\x7f", 3) == 0;
    seen += is(p->key, p->key_size, "retry") && is(p->value, p->value_size, "never");
  }
  CHECK(seen == 2);
  coracle_event_release(&e);
  CHECK(coracle_unary_wait(to_echo, "/t.Echo/Nowhere", NULL, 0, NULL, &e) == CORACLE_OK);
  CHECK(e.status == 12);
  coracle_event_release(&e);
}

struct seen {
  struct flag done;
  int32_t status;
  int kind;
  char text[64];
  size_t size;
  int blocked; /* what a function that waits returned inside the callback */
};
static void keep(const coracle_event* e, void* context) {
  struct seen* s = context;
  coracle_event unused;
  s->status = e->status;
  s->kind = (int)e->kind;
  s->size = e->message_size;
  if (e->message_size && e->message_size < sizeof s->text) memcpy(s->text, e->message, e->message_size);
  s->blocked = coracle_unary_wait(to_echo, "/t.Echo/Say", NULL, 0, NULL, &unused);
  raise_flag(&s->done);
}

static void unary_by_callback(void) {
  struct seen s = {.done = FLAG_INIT};
  const coracle_completion to = {.size = sizeof to, .callback = keep, .context = &s};
  CHECK(coracle_unary(to_echo, "/t.Echo/Later", "abc", 3, NULL, &to, NULL) == CORACLE_OK);
  await_flag(&s.done, 1);
  CHECK(s.status == 0 && s.kind == CORACLE_EVENT_UNARY && s.size == 3 && memcmp(s.text, "abc", 3) == 0);
  CHECK(s.blocked == CORACLE_WOULD_DEADLOCK);
}

static atomic_int wakes;
static void count_wakes(void* context) {
  (void)context;
  atomic_fetch_add(&wakes, 1);
}

static void a_thousand_by_a_queue_in_batches(void) {
  enum { all = 1000 };
  coracle_queue queue = 0;
  coracle_queue_options o = {.size = sizeof o, .descriptor = 1, .wake = count_wakes};
  atomic_store(&wakes, 0);
  CHECK(coracle_queue_create(0, &o, &queue) == CORACLE_OK);
  const int fd = coracle_queue_descriptor(queue);
  CHECK(fd >= 0);
  for (uint64_t i = 0; i < all; ++i) {
    const coracle_completion to = {.size = sizeof to, .queue = queue, .tag = i};
    CHECK(coracle_unary(to_echo, "/t.Echo/Say", &i, sizeof i, NULL, &to, NULL) == CORACLE_OK);
  }
  CHECK(coracle_queue_destroy(queue) == CORACLE_BUSY || atomic_load(&wakes) > 0);
  static char came[all];
  memset(came, 0, sizeof came);
  int count = 0;
  while (count < all) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    CHECK(poll(&p, 1, 30000) == 1);
    coracle_event events[64];
    size_t taken = 0;
    do {
      CHECK(coracle_queue_take(queue, events, sizeof events[0], 64, &taken) == CORACLE_OK);
      for (size_t i = 0; i < taken; ++i) {
        uint64_t value = all;
        CHECK(events[i].status == 0 && events[i].message_size == sizeof value);
        memcpy(&value, events[i].message, sizeof value);
        CHECK(value == events[i].tag && value < all && !came[value]);
        came[value] = 1;
      }
      coracle_events_release(events, sizeof events[0], taken);
      count += (int)taken;
    } while (taken == 64);
  }
  CHECK(atomic_load(&wakes) > 0 && atomic_load(&wakes) <= all);
  size_t taken = 7;
  coracle_event e;
  CHECK(coracle_queue_take(queue, &e, sizeof e, 1, &taken) == CORACLE_OK && taken == 0);
  CHECK(coracle_queue_wait(queue, ms, &e, sizeof e, 1, &taken) == CORACLE_TIMED_OUT);
  CHECK(coracle_queue_destroy(queue) == CORACLE_OK);
  CHECK(coracle_queue_descriptor(queue) == -1);
}

static void deadlines_cover_queueing(void) {
  coracle_event e;
  coracle_call_options o = no_options();
  o.timeout_ns = 20 * ms;
  CHECK(coracle_unary_wait(to_echo, "/t.Echo/Never", NULL, 0, &o, &e) == CORACLE_OK);
  CHECK(e.status == 4);
  coracle_event_release(&e);
  await_flag(&never_began, 1);
  never_began.set = 0;
  coracle_call_release(atomic_load(&never_call));
  o.timeout_ns = -1;
  CHECK(coracle_unary_wait(to_echo, "/t.Echo/Say", NULL, 0, &o, &e) == CORACLE_OK);
  CHECK(e.status == 4);
  coracle_event_release(&e);
  /* One call at a time: the second waits for its turn, within its deadline. */
  coracle_channel narrow = 0;
  const coracle_option one[] = {{"credentials", "insecure"}, {"streams_per_connection", "1"}};
  CHECK(coracle_channel_create(0, echo.address, one, 2, &narrow) == CORACLE_OK);
  struct seen s = {.done = FLAG_INIT};
  const coracle_completion to = {.size = sizeof to, .callback = keep, .context = &s};
  coracle_call first = 0;
  CHECK(coracle_unary(narrow, "/t.Echo/Never", NULL, 0, NULL, &to, &first) == CORACLE_OK);
  await_flag(&never_began, 1);
  o.timeout_ns = 20 * ms;
  CHECK(coracle_unary_wait(narrow, "/t.Echo/Say", NULL, 0, &o, &e) == CORACLE_OK);
  CHECK(e.status == 4);
  coracle_event_release(&e);
  CHECK(coracle_call_cancel(first) == CORACLE_OK);
  await_flag(&s.done, 1);
  CHECK(s.status == 1);
  CHECK(coracle_call_cancel(first) == CORACLE_OK); /* too late, which is no error */
  int ended = 0;
  CHECK(coracle_call_ended(first, &ended) == CORACLE_OK && ended == 1);
  CHECK(coracle_call_release(first) == CORACLE_OK);
  CHECK(coracle_call_release(first) == CORACLE_INVALID_HANDLE);
  never_began.set = 0;
  /* The server learns that its call has ended; an answer is dropped. */
  do CHECK(coracle_call_ended(atomic_load(&never_call), &ended) == CORACLE_OK);
  while (!ended);
  answer(atomic_load(&never_call), 0, NULL, "late", 4);
  CHECK(coracle_call_release(atomic_load(&never_call)) == CORACLE_OK);
  CHECK(coracle_channel_destroy(narrow) == CORACLE_OK);
}

/* ---- streams */

static void a_stream_by_waiting(void) {
  coracle_call call = 0;
  coracle_event e;
  CHECK(coracle_stream(to_echo, "/t.Echo/Chat", NULL, &call) == CORACLE_OK);
  for (int i = 0; i < 3; ++i) {
    char text[16];
    snprintf(text, sizeof text, "text %d", i);
    CHECK(coracle_write_wait(call, text, strlen(text), 0, &e) == CORACLE_OK);
    CHECK(e.kind == CORACLE_EVENT_WRITE && e.status == 0 && e.call == call);
    coracle_event_release(&e);
    CHECK(coracle_read_wait(call, &e) == CORACLE_OK);
    CHECK(e.kind == CORACLE_EVENT_READ && e.has_message && is(e.message, e.message_size, text));
    coracle_event_release(&e);
  }
  CHECK(coracle_headers_wait(call, &e) == CORACLE_OK);
  CHECK(e.kind == CORACLE_EVENT_HEADERS && e.status == 0);
  coracle_event_release(&e);
  CHECK(coracle_headers_wait(call, &e) == CORACLE_WRONG_STATE);
  CHECK(coracle_write(call, "last", 4, CORACLE_WRITE_LAST, NULL) == CORACLE_OK);
  CHECK(coracle_write(call, "more", 4, 0, NULL) == CORACLE_WRONG_STATE);
  CHECK(coracle_read_wait(call, &e) == CORACLE_OK && is(e.message, e.message_size, "last"));
  coracle_event_release(&e);
  CHECK(coracle_read_wait(call, &e) == CORACLE_OK && !e.has_message && e.status == 0);
  coracle_event_release(&e);
  CHECK(coracle_read_wait(call, &e) == CORACLE_OK && !e.has_message && e.status == 0);
  coracle_event_release(&e);
  CHECK(coracle_finish_wait(call, &e) == CORACLE_OK && e.kind == CORACLE_EVENT_FINISH && e.status == 0);
  coracle_event_release(&e);
  CHECK(coracle_finish_wait(call, &e) == CORACLE_WRONG_STATE);
  CHECK(coracle_call_release(call) == CORACLE_OK);
}

static void a_stream_by_a_queue(void) {
  enum { all = 500 };
  coracle_queue queue = 0;
  coracle_call call = 0;
  CHECK(coracle_queue_create(0, NULL, &queue) == CORACLE_OK);
  CHECK(coracle_stream(to_echo, "/t.Echo/Chat", NULL, &call) == CORACLE_OK);
  const coracle_completion reads = {.size = sizeof reads, .queue = queue, .tag = 1};
  const coracle_completion writes = {.size = sizeof writes, .queue = queue, .tag = 2};
  const coracle_completion end = {.size = sizeof end, .queue = queue, .tag = 3};
  CHECK(coracle_read(call, all / 2, &reads) == CORACLE_OK);
  CHECK(coracle_read(call, all, &reads) == CORACLE_OK); /* more than come: ends with an event without a message */
  for (uint32_t i = 0; i < all; ++i)
    CHECK(coracle_write(call, &i, sizeof i, i + 1 == all ? CORACLE_WRITE_LAST : 0, &writes) == CORACLE_OK);
  uint32_t read = 0;
  uint32_t written = 0;
  uint32_t ends = 0;
  while (!ends || written < all) {
    coracle_event events[32];
    size_t count = 0;
    CHECK(coracle_queue_wait(queue, plenty, events, sizeof events[0], 32, &count) == CORACLE_OK);
    for (size_t i = 0; i < count; ++i) {
      CHECK(events[i].status == 0 && events[i].call == call);
      if (events[i].tag == 2) {
        ++written;
      } else if (events[i].has_message) {
        uint32_t value = 0;
        CHECK(events[i].message_size == sizeof value);
        memcpy(&value, events[i].message, sizeof value);
        CHECK(value == read);
        ++read;
      } else {
        ++ends;
      }
    }
    coracle_events_release(events, sizeof events[0], count);
  }
  CHECK(read == all && written == all && ends == 1);
  CHECK(coracle_finish(call, &end) == CORACLE_OK);
  coracle_event e;
  size_t count = 0;
  CHECK(coracle_queue_wait(queue, plenty, &e, sizeof e, 1, &count) == CORACLE_OK && e.tag == 3 && e.status == 0);
  coracle_event_release(&e);
  CHECK(coracle_call_release(call) == CORACLE_OK);
  CHECK(coracle_queue_destroy(queue) == CORACLE_OK);
}

static void finish_drops_what_was_not_asked_for(void) {
  coracle_call call = 0;
  coracle_event e;
  CHECK(coracle_stream(to_echo, "/t.Echo/Chat", NULL, &call) == CORACLE_OK);
  for (int i = 0; i < 10; ++i) CHECK(coracle_write(call, "x", 1, 0, NULL) == CORACLE_OK);
  CHECK(coracle_finish_wait(call, &e) == CORACLE_OK && e.status == 0);
  coracle_event_release(&e);
  CHECK(coracle_call_release(call) == CORACLE_OK);
}

static void cancel_and_release_end_a_stream(void) {
  coracle_call call = 0;
  coracle_event e;
  CHECK(coracle_stream(to_echo, "/t.Echo/Chat", NULL, &call) == CORACLE_OK);
  CHECK(coracle_write_wait(call, "x", 1, 0, &e) == CORACLE_OK);
  coracle_event_release(&e);
  CHECK(coracle_read_wait(call, &e) == CORACLE_OK && e.has_message);
  coracle_event_release(&e);
  struct seen s = {.done = FLAG_INIT};
  const coracle_completion to = {.size = sizeof to, .callback = keep, .context = &s};
  CHECK(coracle_read(call, 5, &to) == CORACLE_OK);
  CHECK(coracle_call_cancel(call) == CORACLE_OK);
  await_flag(&s.done, 1);
  CHECK(s.status == 1 && s.done.set == 1);
  CHECK(coracle_finish_wait(call, &e) == CORACLE_OK && e.status == 1);
  coracle_event_release(&e);
  CHECK(coracle_call_release(call) == CORACLE_OK);
  CHECK(coracle_read_wait(call, &e) == CORACLE_INVALID_HANDLE);
  /* What is pending when a handle is released ends, too. */
  struct seen last = {.done = FLAG_INIT};
  const coracle_completion to_last = {.size = sizeof to, .callback = keep, .context = &last};
  CHECK(coracle_stream(to_echo, "/t.Echo/Chat", NULL, &call) == CORACLE_OK);
  CHECK(coracle_read(call, 1, &to_last) == CORACLE_OK);
  CHECK(coracle_call_release(call) == CORACLE_OK);
  await_flag(&last.done, 1);
  CHECK(last.status == 1);
}

static void a_unary_call_as_a_stream(void) {
  coracle_call call = 0;
  coracle_event e;
  CHECK(coracle_stream(to_echo, "/t.Echo/Say", NULL, &call) == CORACLE_OK);
  CHECK(coracle_write(call, "one", 3, CORACLE_WRITE_LAST, NULL) == CORACLE_OK);
  CHECK(coracle_read_wait(call, &e) == CORACLE_OK && is(e.message, e.message_size, "one"));
  coracle_event_release(&e);
  CHECK(coracle_finish_wait(call, &e) == CORACLE_OK && e.status == 0);
  coracle_event_release(&e);
  CHECK(coracle_call_release(call) == CORACLE_OK);
}

/* ---- servers */

static void a_call_that_is_not_answered_ends_with_unknown(void) {
  coracle_event e;
  CHECK(coracle_unary_wait(to_echo, "/t.Echo/Forget", NULL, 0, NULL, &e) == CORACLE_OK);
  CHECK(e.status == 2 && is(e.status_text, e.status_text_size, "the handler gave no answer"));
  coracle_event_release(&e);
}

static void a_server_as_the_guide_shows_it(void) {
  const coracle_option options[] = {{"credentials", "insecure"}};
  // --8<-- [start:server]
  coracle_server server = 0;
  uint16_t port = 0;
  const coracle_completion calls = {.size = sizeof calls, .callback = on_shout};
  coracle_server_create(0, NULL, 0, &server);
  coracle_server_method(server, "/t.Echo/Shout", CORACLE_METHOD_UNARY, &calls);
  if (coracle_server_listen(server, "127.0.0.1:0", options, 1, &port) != CORACLE_OK)
    fprintf(stderr, "%s\n", coracle_last_error());
  // --8<-- [end:server]
  char address[32];
  snprintf(address, sizeof address, "127.0.0.1:%d", port);
  coracle_channel channel = channel_to(address);
  coracle_event e;
  CHECK(coracle_unary_wait(channel, "/t.Echo/Shout", "x", 1, NULL, &e) == CORACLE_OK && e.status == 0);
  coracle_event_release(&e);
  CHECK(coracle_channel_destroy(channel) == CORACLE_OK);
  CHECK(coracle_server_destroy(server) == CORACLE_OK);
}

static void misuse_of_servers(void) {
  const coracle_completion to = {.size = sizeof to, .callback = on_say};
  CHECK(coracle_server_method(echo.server, "/t.Echo/New", CORACLE_METHOD_UNARY, &to) == CORACLE_WRONG_STATE);
  coracle_server made = 0;
  const coracle_option wrong_option[] = {{"limits.nothing", "1"}};
  CHECK(coracle_server_create(0, wrong_option, 1, &made) == CORACLE_INVALID_ARGUMENT);
  CHECK(strstr(coracle_last_error(), "limits.calls") != NULL);
  CHECK(coracle_server_create(0, NULL, 0, &made) == CORACLE_OK);
  CHECK(coracle_server_method(made, "/a/b", 7, &to) == CORACLE_INVALID_ARGUMENT);
  CHECK(coracle_server_method(made, "/a/b", CORACLE_METHOD_UNARY, &to) == CORACLE_OK);
  CHECK(coracle_server_method(made, "/a/b", CORACLE_METHOD_UNARY, &to) == CORACLE_WRONG_STATE);
  CHECK(coracle_server_listen(made, "nowhere at all", plain, 1, NULL) == CORACLE_FAILED);
  CHECK(coracle_server_listen(made, "127.0.0.1:0", NULL, 0, NULL) == CORACLE_INVALID_ARGUMENT);
  CHECK(coracle_server_destroy(made) == CORACLE_OK);
  CHECK(coracle_server_destroy(made) == CORACLE_INVALID_HANDLE);
}

/* A server of one method whose events go to a queue, and a channel to it. */
struct watched {
  coracle_runtime runtime;
  coracle_server server;
  coracle_channel channel;
  coracle_queue queue;
  uint16_t port;
};
static int begin_watched(struct watched* w, int kind) {
  char address[64];
  if (coracle_runtime_create(NULL, 0, &w->runtime)) return 0;
  if (coracle_queue_create(w->runtime, NULL, &w->queue)) return 0;
  const coracle_completion to = {.size = sizeof to, .queue = w->queue, .tag = 7};
  if (coracle_server_create(w->runtime, NULL, 0, &w->server)) return 0;
  if (coracle_server_method(w->server, "/t.Watched/Call", kind, &to)) return 0;
  if (coracle_server_listen(w->server, "127.0.0.1:0", plain, 1, &w->port)) return 0;
  snprintf(address, sizeof address, "127.0.0.1:%d", w->port);
  w->channel = channel_to(address);
  return 1;
}
static int end_watched(struct watched* w) {
  return coracle_channel_destroy(w->channel) == CORACLE_OK &&
         coracle_runtime_destroy(w->runtime) == CORACLE_OK &&
         coracle_server_destroy(w->server) == CORACLE_OK && coracle_queue_destroy(w->queue) == CORACLE_OK;
}
/* Takes one event; its texts have been released. */
static coracle_event next_event(coracle_queue queue) {
  coracle_event e = {.size = sizeof e};
  size_t count = 0;
  if (coracle_queue_wait(queue, plenty, &e, sizeof e, 1, &count) != CORACLE_OK)
    record(__LINE__, "no event came");
  coracle_event_release(&e);
  return e;
}

static void a_call_that_ends_unanswered_is_reported(void) {
  struct watched w;
  CHECK(begin_watched(&w, CORACLE_METHOD_UNARY | CORACLE_METHOD_REPORTS_END));
  struct seen s = {.done = FLAG_INIT};
  const coracle_completion to = {.size = sizeof to, .callback = keep, .context = &s};
  coracle_call call = 0;
  for (int i = 1; i <= 2; ++i) {
    coracle_call_options o = no_options();
    if (i == 2) o.timeout_ns = 50 * ms;
    CHECK(coracle_unary(w.channel, "/t.Watched/Call", "x", 1, &o, &to, &call) == CORACLE_OK);
    const coracle_event request = next_event(w.queue);
    CHECK(request.kind == CORACLE_EVENT_REQUEST && request.tag == 7);
    if (i == 1) CHECK(coracle_call_cancel(call) == CORACLE_OK);
    const coracle_event ended = next_event(w.queue);
    CHECK(ended.kind == CORACLE_EVENT_ENDED && ended.tag == 7 && ended.call == request.call);
    CHECK(ended.status == (i == 1 ? 1 : 4)); /* CANCELLED, DEADLINE_EXCEEDED */
    answer(request.call, 0, NULL, "late", 4);
    CHECK(coracle_call_release(request.call) == CORACLE_OK);
    CHECK(coracle_call_release(call) == CORACLE_OK);
    await_flag(&s.done, i);
  }
  /* One that is answered has no such event: the next one is the next request. */
  for (int i = 3; i <= 4; ++i) {
    CHECK(coracle_unary(w.channel, "/t.Watched/Call", "x", 1, NULL, &to, NULL) == CORACLE_OK);
    const coracle_event request = next_event(w.queue);
    CHECK(request.kind == CORACLE_EVENT_REQUEST);
    answer(request.call, 0, NULL, "y", 1);
    CHECK(coracle_call_release(request.call) == CORACLE_OK);
    await_flag(&s.done, i);
    CHECK(s.status == 0);
  }
  CHECK(end_watched(&w));
}

static void a_stream_that_ends_unanswered_is_reported_after_its_messages(void) {
  struct watched w;
  CHECK(begin_watched(&w, CORACLE_METHOD_STREAM | CORACLE_METHOD_REPORTS_END));
  const coracle_completion to = {.size = sizeof to, .queue = w.queue, .tag = 8};
  coracle_call call = 0;
  CHECK(coracle_stream(w.channel, "/t.Watched/Call", NULL, &call) == CORACLE_OK);
  CHECK(coracle_write(call, "x", 1, 0, NULL) == CORACLE_OK);
  const coracle_event request = next_event(w.queue);
  CHECK(request.kind == CORACLE_EVENT_REQUEST);
  CHECK(coracle_read(request.call, 2, &to) == CORACLE_OK);
  coracle_event e = next_event(w.queue);
  CHECK(e.kind == CORACLE_EVENT_READ && e.has_message && e.tag == 8);
  CHECK(coracle_call_release(call) == CORACLE_OK);
  e = next_event(w.queue);
  CHECK(e.kind == CORACLE_EVENT_READ && !e.has_message && e.status != 0);
  e = next_event(w.queue);
  CHECK(e.kind == CORACLE_EVENT_ENDED && e.tag == 7 && e.call == request.call);
  CHECK(coracle_call_release(request.call) == CORACLE_OK);
  CHECK(end_watched(&w));
}

static void a_drain_ends_with_an_event(void) {
  struct watched w;
  CHECK(begin_watched(&w, CORACLE_METHOD_UNARY | CORACLE_METHOD_REPORTS_END));
  struct seen s = {.done = FLAG_INIT};
  const coracle_completion to = {.size = sizeof to, .callback = keep, .context = &s};
  const coracle_completion drained = {.size = sizeof drained, .queue = w.queue, .tag = 9};
  CHECK(coracle_unary(w.channel, "/t.Watched/Call", "x", 1, NULL, &to, NULL) == CORACLE_OK);
  coracle_call running = next_event(w.queue).call;
  CHECK(coracle_server_drain(w.server, -1, &drained) == CORACLE_INVALID_ARGUMENT);
  CHECK(says("grace_ns is negative"));
  CHECK(coracle_server_drain(w.server, 0, NULL) == CORACLE_INVALID_ARGUMENT);
  CHECK(coracle_server_drain(w.server, INT64_MAX, &drained) == CORACLE_OK);
  /* It waits for the call, which a second drain cancels. */
  CHECK(coracle_server_drain(w.server, 0, &drained) == CORACLE_OK);
  const coracle_event ended = next_event(w.queue);
  CHECK(ended.kind == CORACLE_EVENT_ENDED && ended.call == running);
  CHECK(coracle_call_release(running) == CORACLE_OK);
  for (int i = 0; i < 2; ++i) {
    const coracle_event e = next_event(w.queue);
    CHECK(e.kind == CORACLE_EVENT_DRAINED && e.tag == 9 && e.status == 0);
  }
  await_flag(&s.done, 1);
  CHECK(s.status == 14);
  CHECK(end_watched(&w));
  CHECK(coracle_server_drain(w.server, 0, &drained) == CORACLE_INVALID_HANDLE);
  CHECK(says("is no handle of a server"));
  /* A drain that waits for a call, when the server is destroyed or its runtime is. */
  for (int i = 0; i < 2; ++i) {
    struct seen end = {.done = FLAG_INIT};
    const coracle_completion to_end = {.size = sizeof to_end, .callback = keep, .context = &end};
    const coracle_completion then = {.size = sizeof then, .callback = keep, .context = &end};
    CHECK(begin_watched(&w, CORACLE_METHOD_UNARY));
    CHECK(coracle_unary(w.channel, "/t.Watched/Call", "x", 1, NULL, &to_end, NULL) == CORACLE_OK);
    running = next_event(w.queue).call;
    CHECK(coracle_server_drain(w.server, INT64_MAX, &then) == CORACLE_OK);
    if (i == 0) CHECK(coracle_server_destroy(w.server) == CORACLE_OK);
    CHECK(coracle_runtime_destroy(w.runtime) == CORACLE_OK);
    await_flag(&end.done, 2);
    if (i == 1) CHECK(coracle_server_destroy(w.server) == CORACLE_OK);
    CHECK(coracle_call_release(running) == CORACLE_OK);
    CHECK(coracle_channel_destroy(w.channel) == CORACLE_OK);
    CHECK(coracle_queue_destroy(w.queue) == CORACLE_OK);
  }
}

static void each_address_has_its_port(void) {
  struct watched w;
  CHECK(begin_watched(&w, CORACLE_METHOD_UNARY));
  uint16_t second = 0;
  CHECK(coracle_server_listen(w.server, "127.0.0.1:0", plain, 1, &second) == CORACLE_OK);
  CHECK(second != 0 && second != w.port);
  CHECK(end_watched(&w));
}

static void servers_may_share_a_port(void) {
  const coracle_completion to = {.size = sizeof to, .callback = on_say};
  const coracle_option shared[] = {{"reuse_port", "true"}};
  coracle_server servers[2] = {0, 0};
  uint16_t port = 0;
  char address[64] = "127.0.0.1:0";
  for (int i = 0; i < 2; ++i) {
    CHECK(coracle_server_create(0, shared, 1, &servers[i]) == CORACLE_OK);
    CHECK(coracle_server_method(servers[i], "*", CORACLE_METHOD_UNARY, &to) == CORACLE_OK);
    CHECK(coracle_server_listen(servers[i], address, plain, 1, &port) == CORACLE_OK);
    snprintf(address, sizeof address, "127.0.0.1:%d", port);
  }
  for (int i = 0; i < 2; ++i) CHECK(coracle_server_destroy(servers[i]) == CORACLE_OK);
}

/* ---- what bad use gets */

static void misuse_is_an_error_with_a_text(void) {
  coracle_event e;
  coracle_channel made = 0;
  CHECK(coracle_channel_create(0, echo.address, NULL, 0, &made) == CORACLE_INVALID_ARGUMENT);
  CHECK(strstr(coracle_last_error(), "credentials") != NULL);
  CHECK(coracle_channel_create(0, echo.address, plain, 1, NULL) == CORACLE_INVALID_ARGUMENT);
  CHECK(coracle_channel_create(0, NULL, plain, 1, &made) == CORACLE_INVALID_ARGUMENT);
  const coracle_option unknown[] = {{"credentials", "insecure"}, {"colour", "red"}};
  CHECK(coracle_channel_create(0, echo.address, unknown, 2, &made) == CORACLE_INVALID_ARGUMENT);
  CHECK(strstr(coracle_last_error(), "keepalive.time") != NULL);
  const coracle_option time[] = {{"credentials", "insecure"}, {"keepalive.time", "30"}};
  CHECK(coracle_channel_create(0, echo.address, time, 2, &made) == CORACLE_INVALID_ARGUMENT);
  CHECK(strstr(coracle_last_error(), "keepalive.time") && strstr(coracle_last_error(), "duration"));
  CHECK(coracle_unary_wait(0, "/t.Echo/Say", NULL, 0, NULL, &e) == CORACLE_INVALID_HANDLE);
  CHECK(coracle_unary_wait(echo.server, "/t.Echo/Say", NULL, 0, NULL, &e) == CORACLE_INVALID_HANDLE);
  CHECK(coracle_unary_wait(~(coracle_channel)0, "/t.Echo/Say", NULL, 0, NULL, &e) == CORACLE_INVALID_HANDLE);
  CHECK(coracle_unary_wait(to_echo, NULL, NULL, 0, NULL, &e) == CORACLE_INVALID_ARGUMENT);
  CHECK(coracle_unary_wait(to_echo, "/t.Echo/Say", NULL, 3, NULL, &e) == CORACLE_INVALID_ARGUMENT);
  coracle_call_options small = no_options();
  small.size = 4;
  CHECK(coracle_unary_wait(to_echo, "/t.Echo/Say", NULL, 0, &small, &e) == CORACLE_INVALID_ARGUMENT);
  CHECK(strstr(coracle_last_error(), "sizeof") != NULL);
  const coracle_pair reserved = {"grpc-timeout", 12, "1S", 2};
  coracle_call_options o = no_options();
  o.metadata = &reserved;
  o.metadata_count = 1;
  CHECK(coracle_unary_wait(to_echo, "/t.Echo/Say", NULL, 0, &o, &e) == CORACLE_INVALID_ARGUMENT);
  const coracle_completion neither = {.size = sizeof neither};
  CHECK(coracle_unary(to_echo, "/t.Echo/Say", NULL, 0, NULL, &neither, NULL) == CORACLE_INVALID_ARGUMENT);
  const coracle_completion both = {.size = sizeof both, .queue = echo.later, .callback = keep};
  CHECK(coracle_unary(to_echo, "/t.Echo/Say", NULL, 0, NULL, &both, NULL) == CORACLE_INVALID_ARGUMENT);
  CHECK(coracle_unary(to_echo, "/t.Echo/Say", NULL, 0, NULL, NULL, NULL) == CORACLE_INVALID_ARGUMENT);
  CHECK(coracle_queue_destroy(echo.later) == CORACLE_BUSY); /* a method of the server completes there */
  CHECK(strcmp(coracle_error_name(CORACLE_BUSY), "CORACLE_BUSY") == 0);
  CHECK(coracle_abi_version() == CORACLE_ABI_VERSION);
  CHECK(coracle_option_name("channel", 0) && !coracle_option_name("channel", 1000) && !coracle_option_name("x", 0));
}

static void what_http_cannot_carry_is_refused(void) {
  static const char* const paths[] = {"",          "t.Echo/Say",     "/t.Echo/Say\r\nx: y", "/t.Echo/Say\n", "/t.Echo/Say HTTP/1.1",
                                      "/t.Echo/\t", "/t.Echo/S\xc3\xa4y", "/t.Echo/Say#x",   "/t.Echo/\x7f"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; ++i) {
    coracle_event e;
    coracle_call call = 0;
    CHECK(coracle_unary_wait(to_echo, paths[i], NULL, 0, NULL, &e) == CORACLE_INVALID_ARGUMENT);
    CHECK(says("is not valid in HTTP: write \"/package.Service/Method\""));
    CHECK(coracle_stream(to_echo, paths[i], NULL, &call) == CORACLE_INVALID_ARGUMENT && call == 0);
  }
  CHECK(says("the path \"/t.Echo/?\""));
  static const char* const targets[] = {"",           "127.0.0.1:65536", "127.0.0.1:http", "a host:1",      "host\r\nx: y:1",
                                        "nosuch://x", "ipv4:host:1",     "unix://host/x",  "dns://name/x", "[::1"};
  for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) {
    coracle_channel made = 0;
    CHECK(coracle_channel_create(0, targets[i], plain, 1, &made) == CORACLE_INVALID_ARGUMENT && made == 0);
    CHECK(says("write") || says("valid"));
  }
  const coracle_option authority[] = {{"credentials", "insecure"}, {"authority", "host\r\nx: y"}};
  coracle_channel made = 0;
  CHECK(coracle_channel_create(0, echo.address, authority, 2, &made) == CORACLE_INVALID_ARGUMENT);
  CHECK(says("the authority \"host??x: y\""));
}

static struct flag released = FLAG_INIT;
static void release_event(const coracle_event* e, void* context) {
  (void)context;
  coracle_event copy = *e;
  coracle_event_release(&copy);
  coracle_events_release(&copy, sizeof copy, 1);
  coracle_event_release((coracle_event*)e);
  IN_CALLBACK(e->status == 0 && e->message_size == 5 && memcmp(e->message, "hello", 5) == 0);
  raise_flag(&released);
}
static void releasing_the_event_of_a_callback_does_nothing(void) {
  const coracle_completion then = {.size = sizeof then, .callback = release_event};
  coracle_call call = 0;
  released.set = 0;
  CHECK(coracle_unary(to_echo, "/t.Echo/Say", "hello", 5, NULL, &then, NULL) == CORACLE_OK);
  await_flag(&released, 1);
  CHECK(coracle_stream(to_echo, "/t.Echo/Chat", NULL, &call) == CORACLE_OK);
  CHECK(coracle_write(call, "hello", 5, 0, NULL) == CORACLE_OK);
  CHECK(coracle_read(call, 1, &then) == CORACLE_OK);
  await_flag(&released, 2);
  CHECK(coracle_call_release(call) == CORACLE_OK);
}

static int open_descriptors(void) {
  int count = 0;
  DIR* all = opendir("/proc/self/fd");
  while (all && readdir(all)) ++count;
  if (all) closedir(all);
  return count;
}
static void an_event_that_is_not_taken_keeps_no_connection(void) {
  const coracle_queue_options with_descriptor = {.size = sizeof with_descriptor, .descriptor = 1};
  coracle_queue queue = 0;
  CHECK(coracle_queue_create(0, &with_descriptor, &queue) == CORACLE_OK);
  const int before = open_descriptors();
  coracle_channel channel = channel_to(echo.address);
  const coracle_completion there = {.size = sizeof there, .queue = queue};
  CHECK(coracle_unary(channel, "/t.Echo/Say", "x", 1, NULL, &there, NULL) == CORACLE_OK);
  struct pollfd readable = {.fd = coracle_queue_descriptor(queue), .events = POLLIN};
  CHECK(poll(&readable, 1, (int)(plenty / ms)) == 1);
  CHECK(open_descriptors() > before);
  CHECK(coracle_channel_destroy(channel) == CORACLE_OK);
  /* Both ends of the connection are in this process. */
  for (int64_t waited = 0; open_descriptors() > before && waited < plenty; waited += 10 * ms) poll(NULL, 0, 10);
  CHECK(open_descriptors() <= before);
  coracle_event e;
  size_t count = 0;
  CHECK(coracle_queue_take(queue, &e, sizeof e, 1, &count) == CORACLE_OK && count == 1 && e.status == 0);
  coracle_event_release(&e);
  CHECK(coracle_queue_destroy(queue) == CORACLE_OK);
}

static void misuse_of_a_call_names_it_and_the_rule(void) {
  coracle_call call = 0;
  coracle_event e;
  CHECK(coracle_stream(to_echo, "/t.Echo/Chat", NULL, &call) == CORACLE_OK);
  CHECK(coracle_write(call, "x", 1, 0, NULL) == CORACLE_OK);
  CHECK(coracle_headers_wait(call, &e) == CORACLE_OK);
  coracle_event_release(&e);
  CHECK(coracle_headers_wait(call, &e) == CORACLE_WRONG_STATE);
  CHECK(says("the initial metadata of the call of /t.Echo/Chat was asked for twice"));
  CHECK(coracle_writes_done(call) == CORACLE_OK);
  CHECK(coracle_write(call, "late", 4, 0, NULL) == CORACLE_WRONG_STATE);
  CHECK(says("the call of /t.Echo/Chat takes no message after its last one"));
  CHECK(coracle_finish_wait(call, &e) == CORACLE_OK && e.status == 0);
  coracle_event_release(&e);
  CHECK(coracle_finish_wait(call, &e) == CORACLE_WRONG_STATE);
  CHECK(says("the call of /t.Echo/Chat was finished twice: finish each call once"));
  const coracle_answer a = {.size = sizeof a, .has_message = 1};
  CHECK(coracle_answer_call(call, &a) == CORACLE_WRONG_STATE);
  CHECK(says("the call of /t.Echo/Chat is a client's"));
  const coracle_pair* pairs = NULL;
  size_t count = 0;
  CHECK(coracle_call_security(call, &pairs, &count) == CORACLE_WRONG_STATE);
  CHECK(says("the call of /t.Echo/Chat is a client's"));
  CHECK(coracle_send_headers(call, NULL, 0) == CORACLE_WRONG_STATE);
  CHECK(says("the call of /t.Echo/Chat is a client's"));
  CHECK(coracle_call_release(call) == CORACLE_OK);
  /* A unary call, and its call on the server after its client has ended it. */
  struct seen s = {.done = FLAG_INIT};
  const coracle_completion to = {.size = sizeof to, .callback = keep, .context = &s};
  CHECK(coracle_unary(to_echo, "/t.Echo/Never", NULL, 0, NULL, &to, &call) == CORACLE_OK);
  CHECK(coracle_read_wait(call, &e) == CORACLE_WRONG_STATE);
  CHECK(says("the call of /t.Echo/Never is unary"));
  await_flag(&never_began, 1);
  CHECK(coracle_call_cancel(call) == CORACLE_OK);
  await_flag(&s.done, 1);
  CHECK(coracle_call_release(call) == CORACLE_OK);
  const coracle_call served = atomic_load(&never_call);
  for (int ended = 0; !ended;) CHECK(coracle_call_ended(served, &ended) == CORACLE_OK);
  CHECK(coracle_write(served, "late", 4, 0, NULL) == CORACLE_SHUT_DOWN);
  CHECK(says("the call of /t.Echo/Never has ended: it takes no operation any more"));
  CHECK(coracle_call_release(served) == CORACLE_OK);
}

/* Every function knows a handle that was closed, even while another object has its slot. */
static void a_closed_handle_is_an_error_of_every_function(void) {
  coracle_runtime runtime = 0;
  coracle_channel channel = 0;
  coracle_call call = 0;
  coracle_queue queue = 0;
  coracle_server server = 0;
  coracle_event e;
  size_t count = 0;
  int ended = 0;
  CHECK(coracle_runtime_create(NULL, 0, &runtime) == CORACLE_OK);
  CHECK(coracle_channel_create(0, echo.address, plain, 1, &channel) == CORACLE_OK);
  CHECK(coracle_stream(channel, "/t.Echo/Chat", NULL, &call) == CORACLE_OK);
  CHECK(coracle_queue_create(0, NULL, &queue) == CORACLE_OK);
  CHECK(coracle_server_create(0, NULL, 0, &server) == CORACLE_OK);
  CHECK(coracle_call_release(call) == CORACLE_OK);
  CHECK(coracle_channel_destroy(channel) == CORACLE_OK);
  CHECK(coracle_queue_destroy(queue) == CORACLE_OK);
  CHECK(coracle_server_destroy(server) == CORACLE_OK);
  CHECK(coracle_runtime_destroy(runtime) == CORACLE_OK);
  coracle_channel others[8];
  for (int i = 0; i < 8; ++i) others[i] = channel_to(echo.address);
  const coracle_completion to = {.size = sizeof to, .callback = keep};
  const coracle_completion queued = {.size = sizeof queued, .queue = queue};
  const coracle_answer a = {.size = sizeof a, .has_message = 1};
  coracle_channel made = 0;
#define CLOSED(function, kind) \
  CHECK((function) == CORACLE_INVALID_HANDLE && says("is no handle of a " kind ": it was closed"))
  CLOSED(coracle_channel_create(runtime, echo.address, plain, 1, &made), "runtime");
  CLOSED(coracle_queue_create(runtime, NULL, &made), "runtime");
  CLOSED(coracle_server_create(runtime, NULL, 0, &made), "runtime");
  CLOSED(coracle_runtime_destroy(runtime), "runtime");
  CLOSED(coracle_unary(channel, "/t.Echo/Say", NULL, 0, NULL, &to, NULL), "channel");
  CLOSED(coracle_unary_wait(channel, "/t.Echo/Say", NULL, 0, NULL, &e), "channel");
  CLOSED(coracle_stream(channel, "/t.Echo/Chat", NULL, &made), "channel");
  CLOSED(coracle_channel_close(channel), "channel");
  CLOSED(coracle_channel_destroy(channel), "channel");
  CLOSED(coracle_read(call, 1, &to), "call");
  CLOSED(coracle_read_wait(call, &e), "call");
  CLOSED(coracle_write(call, "x", 1, 0, NULL), "call");
  CLOSED(coracle_write_wait(call, "x", 1, 0, &e), "call");
  CLOSED(coracle_writes_done(call), "call");
  CLOSED(coracle_headers(call, &to), "call");
  CLOSED(coracle_headers_wait(call, &e), "call");
  CLOSED(coracle_finish(call, &to), "call");
  CLOSED(coracle_finish_wait(call, &e), "call");
  CLOSED(coracle_answer_call(call, &a), "call");
  CLOSED(coracle_send_headers(call, NULL, 0), "call");
  CLOSED(coracle_call_ended(call, &ended), "call");
  const coracle_pair* pairs = NULL;
  CLOSED(coracle_call_security(call, &pairs, &count), "call");
  CLOSED(coracle_call_cancel(call), "call");
  CLOSED(coracle_call_release(call), "call");
  CLOSED(coracle_unary(to_echo, "/t.Echo/Say", NULL, 0, NULL, &queued, NULL), "queue");
  CLOSED(coracle_queue_take(queue, &e, sizeof e, 1, &count), "queue");
  CLOSED(coracle_queue_wait(queue, ms, &e, sizeof e, 1, &count), "queue");
  CLOSED(coracle_queue_destroy(queue), "queue");
  CHECK(coracle_queue_descriptor(queue) == -1);
  CLOSED(coracle_server_method(server, "/a/b", CORACLE_METHOD_UNARY, &to), "server");
  CLOSED(coracle_server_listen(server, "127.0.0.1:0", plain, 1, NULL), "server");
  CLOSED(coracle_server_stop(server), "server");
  CLOSED(coracle_server_drain(server, 0, &to), "server");
  CLOSED(coracle_server_destroy(server), "server");
#undef CLOSED
  for (int i = 0; i < 8; ++i) CHECK(coracle_channel_destroy(others[i]) == CORACLE_OK);
}

static void a_stale_handle_is_an_error(void) {
  coracle_channel old = channel_to(echo.address);
  coracle_event e;
  CHECK(coracle_channel_destroy(old) == CORACLE_OK);
  for (int i = 0; i < 3000; ++i) { /* the same slots, again and again */
    coracle_channel next = channel_to(echo.address);
    CHECK(next && next != old);
    CHECK(coracle_channel_destroy(old) == CORACLE_INVALID_HANDLE);
    CHECK(coracle_unary_wait(old, "/t.Echo/Say", NULL, 0, NULL, &e) == CORACLE_INVALID_HANDLE);
    CHECK(coracle_channel_destroy(next) == CORACLE_OK);
  }
}

/* A callback that blocks holds up the thread of its runtime; functions that do not wait go on meanwhile. */
static struct flag blocking = FLAG_INIT;
static struct flag unblock = FLAG_INIT;
static void block(const coracle_event* e, void* context) {
  (void)context;
  IN_CALLBACK(e->status == 0);
  raise_flag(&blocking);
  await_flag(&unblock, 1);
}
static void a_callback_that_blocks(void) {
  const coracle_completion to = {.size = sizeof to, .callback = block};
  struct seen s = {.done = FLAG_INIT};
  const coracle_completion other = {.size = sizeof other, .callback = keep, .context = &s};
  CHECK(coracle_unary(to_echo, "/t.Echo/Say", NULL, 0, NULL, &to, NULL) == CORACLE_OK);
  await_flag(&blocking, 1);
  coracle_call call = 0;
  CHECK(coracle_unary(to_echo, "/t.Echo/Never", NULL, 0, NULL, &other, &call) == CORACLE_OK);
  CHECK(coracle_call_cancel(call) == CORACLE_OK);
  CHECK(coracle_call_release(call) == CORACLE_OK);
  coracle_channel more = channel_to(echo.address);
  CHECK(coracle_channel_destroy(more) == CORACLE_OK);
  CHECK(s.done.set == 0);
  raise_flag(&unblock);
  await_flag(&s.done, 1);
  CHECK(s.status == 1);
}

/* ---- several threads, ends of runtimes, fork, TLS */

static void* call_and_close(void* context) {
  coracle_channel shared = *(coracle_channel*)context;
  for (int i = 0; i < 200; ++i) {
    coracle_event e;
    const int error = coracle_unary_wait(shared, "/t.Echo/Say", &i, sizeof i, NULL, &e);
    if (error == CORACLE_INVALID_HANDLE) return NULL;
    IN_CALLBACK(error == CORACLE_OK && e.status == 0 && e.message_size == sizeof i);
    coracle_event_release(&e);
    if (i == 100) coracle_channel_destroy(shared); /* of all threads one succeeds */
  }
  return NULL;
}
static void threads_share_a_channel(void) {
  coracle_channel shared = channel_to(echo.address);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, call_and_close, &shared) == 0);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  CHECK(coracle_channel_destroy(shared) == CORACLE_INVALID_HANDLE);
}

static void the_end_of_a_runtime_ends_its_calls(void) {
  coracle_runtime runtime = 0;
  const coracle_option two[] = {{"loops", "2"}, {"backend", "epoll"}};
  CHECK(coracle_runtime_create(two, 2, &runtime) == CORACLE_OK);
  coracle_channel channel = 0;
  CHECK(coracle_channel_create(runtime, echo.address, plain, 1, &channel) == CORACLE_OK);
  coracle_queue queue = 0;
  CHECK(coracle_queue_create(runtime, NULL, &queue) == CORACLE_OK);
  const coracle_completion to = {.size = sizeof to, .queue = queue};
  coracle_call stream = 0;
  never_began.set = 0;
  CHECK(coracle_unary(channel, "/t.Echo/Never", NULL, 0, NULL, &to, NULL) == CORACLE_OK);
  CHECK(coracle_stream(channel, "/t.Echo/Chat", NULL, &stream) == CORACLE_OK);
  CHECK(coracle_read(stream, 3, &to) == CORACLE_OK);
  await_flag(&never_began, 1);
  /* A queue of one runtime is none of another. */
  CHECK(coracle_unary(to_echo, "/t.Echo/Say", NULL, 0, NULL, &to, NULL) == CORACLE_INVALID_ARGUMENT);
  CHECK(coracle_runtime_destroy(runtime) == CORACLE_OK);
  CHECK(coracle_runtime_destroy(runtime) == CORACLE_INVALID_HANDLE);
  coracle_event events[3];
  size_t count = 0;
  CHECK(coracle_queue_take(queue, events, sizeof events[0], 3, &count) == CORACLE_OK);
  CHECK(count == 2);
  for (size_t i = 0; i < count; ++i) CHECK(events[i].status == 1 || events[i].status == 14);
  coracle_events_release(events, sizeof events[0], count);
  CHECK(coracle_unary(channel, "/t.Echo/Say", NULL, 0, NULL, &to, NULL) == CORACLE_SHUT_DOWN);
  CHECK(coracle_read(stream, 1, &to) == CORACLE_SHUT_DOWN);
  CHECK(coracle_call_release(stream) == CORACLE_OK);
  CHECK(coracle_channel_destroy(channel) == CORACLE_OK);
  CHECK(coracle_queue_destroy(queue) == CORACLE_OK);
  CHECK(coracle_call_release(atomic_load(&never_call)) == CORACLE_OK);
}

/* The objects of a program, with a stream, a unary call and a request in progress. */
enum part { PART_RUNTIME, PART_SERVER, PART_CHANNEL, PART_STREAM, PART_QUEUE, PARTS };
struct program {
  coracle_runtime runtime;
  coracle_server server;
  coracle_channel channel;
  coracle_call stream;
  coracle_queue queue;
};

static int begin_program(struct program* p) {
  const coracle_option two[] = {{"loops", "2"}};
  uint16_t port = 0;
  char address[64];
  if (coracle_runtime_create(two, 1, &p->runtime)) return 0;
  if (coracle_queue_create(p->runtime, NULL, &p->queue)) return 0;
  const coracle_completion to = {.size = sizeof to, .queue = p->queue};
  if (coracle_server_create(p->runtime, NULL, 0, &p->server)) return 0;
  if (coracle_server_method(p->server, "*", CORACLE_METHOD_STREAM, &to)) return 0;
  if (coracle_server_listen(p->server, "127.0.0.1:0", plain, 1, &port)) return 0;
  snprintf(address, sizeof address, "127.0.0.1:%d", port);
  if (coracle_channel_create(p->runtime, address, plain, 1, &p->channel)) return 0;
  if (coracle_stream(p->channel, "/t.Other/Chat", NULL, &p->stream)) return 0;
  if (coracle_read(p->stream, 2, &to)) return 0;
  if (coracle_unary(p->channel, "/t.Other/Say", NULL, 0, NULL, &to, NULL)) return 0;
  /* Both have reached the server, whose handles of them are never closed. */
  for (size_t seen = 0; seen < 2;) {
    coracle_event events[2];
    size_t count = 0;
    if (coracle_queue_wait(p->queue, plenty, events, sizeof events[0], 2, &count)) return 0;
    for (size_t i = 0; i < count; ++i) seen += events[i].kind == CORACLE_EVENT_REQUEST;
    coracle_events_release(events, sizeof events[0], count);
  }
  return 1;
}

static int end_part(struct program* p, enum part which) {
  switch (which) {
    case PART_RUNTIME: return coracle_runtime_destroy(p->runtime);
    case PART_SERVER: return coracle_server_destroy(p->server);
    case PART_CHANNEL: return coracle_channel_destroy(p->channel);
    case PART_STREAM: return coracle_call_release(p->stream);
    default: return coracle_queue_destroy(p->queue);
  }
}

static void objects_end_in_every_order(void) {
  int order[PARTS];
  int orders = 0;
  for (int number = 0; number < 120; ++number, ++orders) {
    /* The factorial digits of the number choose from the parts that are left. */
    int left[PARTS] = {PART_RUNTIME, PART_SERVER, PART_CHANNEL, PART_STREAM, PART_QUEUE};
    for (int i = 0, rest = number; i < PARTS; ++i) {
      const int choice = rest % (PARTS - i);
      rest /= PARTS - i;
      order[i] = left[choice];
      for (int k = choice; k + 1 < PARTS - i; ++k) left[k] = left[k + 1];
    }
    struct program p;
    CHECK(begin_program(&p));
    int busy = 0;
    for (int i = 0; i < PARTS; ++i) {
      const int outcome = end_part(&p, order[i]);
      if (order[i] == PART_QUEUE && outcome == CORACLE_BUSY) busy = 1; /* calls are to complete there */
      else CHECK(outcome == CORACLE_OK);
    }
    if (busy) CHECK(coracle_queue_destroy(p.queue) == CORACLE_OK);
  }
  CHECK(orders == 120);
}

static void a_forked_child_is_refused(void) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    coracle_event e;
    const int error = coracle_unary_wait(to_echo, "/t.Echo/Say", NULL, 0, NULL, &e);
    _exit(error == CORACLE_FORKED && coracle_shutdown() == CORACLE_FORKED ? 0 : 1);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  unary_by_waiting(); /* the parent goes on */
}

static void tls_with_an_own_authority_and_client_certificates(void) {
  const char* folder = getenv("CORACLE_CASE_CERTIFICATES");
  CHECK(folder != NULL);
  char ca[512], certificate[512], key[512], client[512], client_key[512];
  snprintf(ca, sizeof ca, "%s/ca.pem", folder);
  snprintf(certificate, sizeof certificate, "%s/server.pem", folder);
  snprintf(key, sizeof key, "%s/server.key", folder);
  snprintf(client, sizeof client, "%s/client.pem", folder);
  snprintf(client_key, sizeof client_key, "%s/client.key", folder);
  const coracle_option listener[] = {{"credentials", "tls"},
                                     {"tls.certificate_file", certificate},
                                     {"tls.key_file", key},
                                     {"tls.client_ca_file", ca}};
  struct case_server secured;
  CHECK(start_server(&secured, listener, 4));
  const coracle_option with[] = {{"credentials", "tls"},
                                 {"tls.ca_file", ca},
                                 {"tls.target_name", "localhost"},
                                 {"tls.certificate_file", client},
                                 {"tls.key_file", client_key},
                                 {"calls.bearer_token", "secret"}};
  coracle_channel trusted = 0, without = 0, none = 0;
  coracle_event e;
  CHECK(coracle_channel_create(0, secured.address, with, 6, &trusted) == CORACLE_OK);
  CHECK(coracle_unary_wait(trusted, "/t.Echo/Say", "x", 1, NULL, &e) == CORACLE_OK);
  CHECK(e.status == 0);
  coracle_event_release(&e);
  CHECK(coracle_unary_wait(trusted, "/t.Echo/Who", "x", 1, NULL, &e) == CORACLE_OK && e.status == 0);
  CHECK(is(e.message, e.message_size,
           "type=tls;protocol=TLSv1.3;dns_name=ada.example;uri=spiffe://example/ada;email=ada@example;common_name=ada;"));
  coracle_event_release(&e);
  CHECK(coracle_unary_wait(to_echo, "/t.Echo/Who", "x", 1, NULL, &e) == CORACLE_OK && e.status == 0);
  CHECK(e.message_size == 0); /* plaintext */
  coracle_event_release(&e);
  CHECK(coracle_channel_create(0, secured.address, with, 3, &without) == CORACLE_OK);
  CHECK(coracle_unary_wait(without, "/t.Echo/Say", "x", 1, NULL, &e) == CORACLE_OK);
  CHECK(e.status == 14);
  coracle_event_release(&e);
  const coracle_option missing[] = {{"credentials", "tls"}, {"tls.ca_file", "/nowhere/ca.pem"}};
  CHECK(coracle_channel_create(0, secured.address, missing, 2, &none) == CORACLE_INVALID_ARGUMENT);
  CHECK(strstr(coracle_last_error(), "/nowhere/ca.pem") != NULL);
  const coracle_option mixed[] = {{"credentials", "insecure"}, {"tls.ca_file", ca}};
  CHECK(coracle_channel_create(0, secured.address, mixed, 2, &none) == CORACLE_INVALID_ARGUMENT);
  CHECK(coracle_channel_destroy(trusted) == CORACLE_OK);
  CHECK(coracle_channel_destroy(without) == CORACLE_OK);
  /* Its thread ends as that of other servers, by a call that never reaches a server. */
  stop_server(&secured);
}

/* ---- what the guide shows */

// --8<-- [start:callback]
static void on_reply(const coracle_event* event, void* context) {
  struct seen* to = context;
  to->status = event->status; /* of gRPC: 0 is OK */
  to->size = event->message_size;
  raise_flag(&to->done);
}
// --8<-- [end:callback]

static void the_guide(void) {
  const char* address = echo.address;
  // --8<-- [start:unary]
  coracle_channel channel = 0;
  const coracle_option options[] = {{"credentials", "insecure"}, {"keepalive.time", "30s"}};
  if (coracle_channel_create(0, address, options, 2, &channel) != CORACLE_OK)
    fprintf(stderr, "%s\n", coracle_last_error());

  coracle_call_options within = {.size = sizeof within, .timeout_ns = 5000000000};
  coracle_event event;
  if (coracle_unary_wait(channel, "/t.Echo/Say", "hello", 5, &within, &event) == CORACLE_OK) {
    if (event.status == 0) printf("%.*s\n", (int)event.message_size, event.message);
    coracle_event_release(&event);
  }
  // --8<-- [end:unary]
  struct seen reply = {.done = FLAG_INIT};
  // --8<-- [start:start_callback]
  const coracle_completion to = {.size = sizeof to, .callback = on_reply, .context = &reply};
  coracle_unary(channel, "/t.Echo/Say", "hello", 5, NULL, &to, NULL);
  // --8<-- [end:start_callback]
  await_flag(&reply.done, 1);
  CHECK(reply.status == 0 && reply.size == 5);
  // --8<-- [start:queue]
  coracle_queue queue = 0;
  const coracle_queue_options with_descriptor = {.size = sizeof with_descriptor, .descriptor = 1};
  coracle_queue_create(0, &with_descriptor, &queue);
  for (uint64_t i = 0; i < 10; ++i) {
    const coracle_completion queued = {.size = sizeof queued, .queue = queue, .tag = i};
    coracle_unary(channel, "/t.Echo/Say", "hello", 5, NULL, &queued, NULL);
  }
  for (size_t ended = 0; ended < 10;) {
    struct pollfd ready = {.fd = coracle_queue_descriptor(queue), .events = POLLIN};
    poll(&ready, 1, -1);
    coracle_event events[16];
    size_t count = 0;
    coracle_queue_take(queue, events, sizeof events[0], 16, &count);
    coracle_events_release(events, sizeof events[0], count);
    ended += count;
  }
  coracle_queue_destroy(queue);
  // --8<-- [end:queue]
  // --8<-- [start:stream]
  coracle_call call = 0;
  coracle_stream(channel, "/t.Echo/Chat", &within, &call);
  coracle_write(call, "one", 3, 0, NULL);
  coracle_write(call, "two", 3, CORACLE_WRITE_LAST, NULL);
  while (coracle_read_wait(call, &event) == CORACLE_OK) {
    const int more = event.has_message; /* without a message, event.status tells how the call ended */
    coracle_event_release(&event);
    if (!more) break;
  }
  coracle_call_release(call);
  // --8<-- [end:stream]
  CHECK(coracle_channel_destroy(channel) == CORACLE_OK);
}

#define CASE(name) {#name, name}
const struct test_case test_cases[] = {
    CASE(unary_by_waiting),
    CASE(a_status_with_details_and_trailing_metadata),
    CASE(unary_by_callback),
    CASE(a_thousand_by_a_queue_in_batches),
    CASE(deadlines_cover_queueing),
    CASE(a_stream_by_waiting),
    CASE(a_stream_by_a_queue),
    CASE(finish_drops_what_was_not_asked_for),
    CASE(cancel_and_release_end_a_stream),
    CASE(a_unary_call_as_a_stream),
    CASE(a_call_that_is_not_answered_ends_with_unknown),
    CASE(a_server_as_the_guide_shows_it),
    CASE(misuse_of_servers),
    CASE(a_call_that_ends_unanswered_is_reported),
    CASE(a_stream_that_ends_unanswered_is_reported_after_its_messages),
    CASE(a_drain_ends_with_an_event),
    CASE(each_address_has_its_port),
    CASE(servers_may_share_a_port),
    CASE(misuse_is_an_error_with_a_text),
    CASE(what_http_cannot_carry_is_refused),
    CASE(releasing_the_event_of_a_callback_does_nothing),
    CASE(an_event_that_is_not_taken_keeps_no_connection),
    CASE(misuse_of_a_call_names_it_and_the_rule),
    CASE(a_closed_handle_is_an_error_of_every_function),
    CASE(a_stale_handle_is_an_error),
    CASE(a_callback_that_blocks),
    CASE(threads_share_a_channel),
    CASE(the_end_of_a_runtime_ends_its_calls),
    CASE(objects_end_in_every_order),
    CASE(a_forked_child_is_refused),
    CASE(tls_with_an_own_authority_and_client_certificates),
    CASE(the_guide),
    {NULL, NULL},
};

int start_case_server(void) {
  if (!start_server(&echo, plain, 1)) return 0;
  to_echo = channel_to(echo.address);
  return echo.port;
}
void stop_case_server(void) {
  coracle_channel_destroy(to_echo);
  stop_server(&echo);
  coracle_shutdown();
}

const char* run_test_case(const struct test_case* c) {
  static char text[800];
  wrong[0] = 0;
  atomic_store(&wrong_in_callback, 0);
  never_began.set = blocking.set = unblock.set = 0;
  c->run();
  if (wrong[0]) return wrong;
  if (!atomic_load(&wrong_in_callback)) return NULL;
  snprintf(text, sizeof text, "line %d: a check in a callback", atomic_load(&wrong_in_callback));
  return text;
}

static void echo_calls(const char* address, const char* text, size_t text_size) {
  coracle_channel channel = channel_to(address);
  coracle_event e;
  coracle_call call = 0;
  CHECK(coracle_unary_wait(channel, "/echo.Echo/Say", text, text_size, NULL, &e) == CORACLE_OK);
  CHECK(e.status == 0 && e.message_size == text_size && memcmp(e.message, text, text_size) == 0);
  coracle_event_release(&e);
  CHECK(coracle_stream(channel, "/echo.Echo/Chat", NULL, &call) == CORACLE_OK);
  CHECK(coracle_write(call, text, text_size, CORACLE_WRITE_LAST, NULL) == CORACLE_OK);
  CHECK(coracle_read_wait(call, &e) == CORACLE_OK && e.message_size == text_size);
  coracle_event_release(&e);
  CHECK(coracle_finish_wait(call, &e) == CORACLE_OK && e.status == 0);
  coracle_event_release(&e);
  CHECK(coracle_call_release(call) == CORACLE_OK);
  CHECK(coracle_channel_destroy(channel) == CORACLE_OK);
}

const char* call_echo(const char* address, const char* text, unsigned long text_size) {
  wrong[0] = 0;
  echo_calls(address, text, text_size);
  return wrong[0] ? wrong : NULL;
}
