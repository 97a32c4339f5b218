// glib_loop: GLib's event loop, and glib_driver, which runs a runtime in it.
#pragma once

#include "foreign_loop.hpp"

#include <glib-unix.h>
#include <glib.h>

#include <exception>
#include <memory>
#include <utility>
#include <vector>

// --8<-- [start:driver]
// Runs loop 0 of a runtime in a GMainContext. It is made and destroyed on the thread of that context, outside tasks. The
// runtime must outlive it.
class glib_driver {
 public:
  glib_driver(GMainContext* host, coracle::runtime& guest) : guest_(guest) {
    // Before each wait: this submits what the guest has queued, and arms its next deadline.
    static GSourceFuncs functions = {[](GSource* s, gint* timeout_ms) -> gboolean {
                                       *timeout_ms = -1;
                                       if (!of(s).inside_) static_cast<void>(of(s).guest_.pollable());
                                       return FALSE;
                                     },
                                     nullptr,  // GLib itself checks the descriptor
                                     [](GSource* s, GSourceFunc, gpointer) -> gboolean {
                                       of(s).poll();
                                       return G_SOURCE_CONTINUE;
                                     },
                                     nullptr,
                                     nullptr,
                                     nullptr};
    source_ = g_source_new(&functions, sizeof(source));
    reinterpret_cast<source*>(source_)->driver = this;
    g_source_add_unix_fd(source_, guest.pollable(), G_IO_IN);
    // Else GLib stops watching the descriptor during each dispatch, which takes three system calls.
    g_source_set_can_recurse(source_, TRUE);
    g_source_attach(source_, host);
  }
  glib_driver(const glib_driver&) = delete;
  glib_driver& operator=(const glib_driver&) = delete;
  ~glib_driver() {
    g_source_destroy(source_);
    g_source_unref(source_);
    guest_.release_loop();
  }
  // After the loop: what left a root task, or null. An exception must not pass through GLib, which is C.
  [[nodiscard]] std::exception_ptr take_error() noexcept { return std::exchange(error_, nullptr); }

 private:
  struct source {
    GSource base;
    glib_driver* driver;
  };
  static glib_driver& of(GSource* s) { return *reinterpret_cast<source*>(s)->driver; }
  void poll() {
    if (std::exchange(inside_, true)) return;  // a task runs a main loop: calls continue after it
    try {
      guest_.poll();
    } catch (...) {
      error_ = std::current_exception();
    }
    inside_ = false;
  }

  coracle::runtime& guest_;
  GSource* source_ = nullptr;
  bool inside_ = false;
  std::exception_ptr error_;
};
// --8<-- [end:driver]

class glib_loop final : public foreign_loop {
 public:
  ~glib_loop() override {
    release();
    g_main_context_unref(context_);
  }

  void drive(coracle::runtime& guest) override {
    drivers_.push_back(std::make_unique<glib_driver>(context_, guest));
  }
  void release() override { drivers_.clear(); }
  void after(std::chrono::milliseconds delay, std::function<void()> due) override {
    attach(
        g_timeout_source_new(static_cast<guint>(delay.count())),
        [](gpointer f) -> gboolean {
          (*static_cast<std::function<void()>*>(f))();
          return G_SOURCE_REMOVE;
        },
        std::move(due));
  }
  void watch(int descriptor, std::function<void()> readable) override {
    const GUnixFDSourceFunc call = [](gint, GIOCondition, gpointer f) -> gboolean {
      (*static_cast<std::function<void()>*>(f))();
      return G_SOURCE_CONTINUE;
    };
    attach(g_unix_fd_source_new(descriptor, G_IO_IN), G_SOURCE_FUNC(call), std::move(readable));
  }
  // As g_main_loop_run() does.
  void run() override {
    going_ = true;
    while (going_) {
      g_main_context_iteration(context_, TRUE);
      ++wakeups_;
      for (const auto& driver : drivers_)
        if (const std::exception_ptr error = driver->take_error()) std::rethrow_exception(error);
    }
  }
  void stop() override { going_ = false; }
  [[nodiscard]] std::uint64_t wakeups() const noexcept override { return wakeups_; }

 private:
  void attach(GSource* s, GSourceFunc call, std::function<void()> f) {
    g_source_set_callback(s, call, new std::function<void()>(std::move(f)),
                          [](gpointer old) { delete static_cast<std::function<void()>*>(old); });
    g_source_attach(s, context_);
    g_source_unref(s);
  }

  GMainContext* context_ = g_main_context_new();
  std::vector<std::unique_ptr<glib_driver>> drivers_;
  bool going_ = false;
  std::uint64_t wakeups_ = 0;
};
