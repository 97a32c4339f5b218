#include "out_of_memory/failing_allocations.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <string_view>
#include <tuple>

extern "C" {
void* __libc_malloc(std::size_t n) noexcept;
void* __libc_calloc(std::size_t count, std::size_t n) noexcept;
void* __libc_realloc(void* p, std::size_t n) noexcept;
void* __libc_memalign(std::size_t alignment, std::size_t n) noexcept;
}

namespace coracle::test {

namespace {

constexpr int frames_max = 64;

struct stack_trace {
  void* frames[frames_max];
  int count = 0;
  void take() noexcept { count = ::backtrace(frames, frames_max); }
};

// The result of a child, in memory that it shares with its parent.
struct last_words {
  enum class end : int { none, returned, signal, terminate, wrong, hung };
  end outcome;
  int number;
  char text[256];
  bool failed;  // the allocation was made, and failed
  stack_trace allocation;
  stack_trace at_end;
};

// --- the names of this program's functions, which are not in its dynamic symbol table

class function_names {
 public:
  function_names() {
    const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat about{};
    if (file < 0 || ::fstat(file, &about) != 0) return;
    const auto size = static_cast<std::size_t>(about.st_size);
    void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    ::close(file);
    if (mapped == MAP_FAILED) return;
    const auto* const bytes = static_cast<const char*>(mapped);
    const auto* const head = reinterpret_cast<const ElfW(Ehdr)*>(bytes);
    const auto* const sections = reinterpret_cast<const ElfW(Shdr)*>(bytes + head->e_shoff);
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
          *static_cast<std::uintptr_t*>(to) = info->dlpi_addr;
          return 1;  // the first one is the program
        },
        &base_);
    for (int i = 0; i < head->e_shnum; ++i) {
      if (sections[i].sh_type != SHT_SYMTAB) continue;
      const char* const names = bytes + sections[sections[i].sh_link].sh_offset;
      const auto* const symbols = reinterpret_cast<const ElfW(Sym)*>(bytes + sections[i].sh_offset);
      for (std::size_t s = 0; s < sections[i].sh_size / sizeof(ElfW(Sym)); ++s)
        if ((symbols[s].st_info & 0xf) == STT_FUNC && symbols[s].st_size != 0)
          functions_.push_back({symbols[s].st_value, symbols[s].st_size, kind_of(names + symbols[s].st_name),
                                names + symbols[s].st_name});
    }
    std::sort(functions_.begin(), functions_.end(),
              [](const function& a, const function& b) { return a.at < b.at; });
  }

  enum class kind : unsigned char { other, ours, simulation };

  // Neither allocates.
  [[nodiscard]] kind kind_at(const void* pc) const noexcept {
    const function* const f = find(pc);
    return f ? f->operation : kind::other;
  }
  [[nodiscard]] std::string at(const void* pc) const {
    const function* const f = find(pc);
    if (!f) return {};
    int failed = 0;
    char* const plain = abi::__cxa_demangle(f->name, nullptr, nullptr, &failed);
    std::string name = failed == 0 && plain ? plain : f->name;
    std::free(plain);
    return name;
  }

 private:
  struct function {
    std::uintptr_t at;
    std::size_t size;
    kind operation;
    const char* name;
  };
  // By its mangled name: the namespace of the simulation, or a function of the library itself that is not a
  // container's.
  static kind kind_of(std::string_view name) noexcept {
    if (name.find("7coracle3sim") != name.npos) return kind::simulation;
    const bool container = name.find("7coracle4base") != name.npos || name.find("7coracle4coro") != name.npos;
    const bool ours = name.find("7coracle") != name.npos && name.find("7coracle4test") == name.npos;
    return ours && !container && !name.starts_with("_ZNSt") && !name.starts_with("_ZNKSt") ? kind::ours
                                                                                           : kind::other;
  }
  [[nodiscard]] const function* find(const void* pc) const noexcept {
    const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(pc) - 1 - base_;  // a return address
    auto f = std::upper_bound(functions_.begin(), functions_.end(), at,
                              [](std::uintptr_t a, const function& b) { return a < b.at; });
    if (f == functions_.begin()) return nullptr;
    --f;
    return at < f->at + f->size ? &*f : nullptr;
  }
  std::uintptr_t base_ = 0;
  std::vector<function> functions_;
};

const function_names& names() {
  static const function_names all;
  return all;
}

// --- the run

constexpr int at_once = 2;
constexpr unsigned child_time_s = 20;

struct run {
  const failing_options* options = nullptr;
  allocation_failures* result = nullptr;
  last_words* slots = nullptr;
  struct child {
    pid_t pid = 0;
    std::uint64_t number = 0;
  } children[at_once];
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> kinds;
  std::atomic<std::uint64_t> number = 0;
  last_words* mine = nullptr;  // in a child
  std::atomic<std::uint64_t> left = 0;  // in a child: allocations that have yet to fail
  std::uint64_t fails_at = 0;  // in a child that plays the scenario from its beginning
};
run* now = nullptr;
std::atomic<bool> counting = false;
thread_local bool inside = false;  // what this file does is not part of the scenario

// Without template arguments, and without parameters.
std::string without_details(std::string_view name) {
  std::string text;
  int depth = 0;
  for (const char c : name) {
    depth += c == '<' || c == '(';
    if (depth == 0) text += c;
    depth -= c == '>' || c == ')';
  }
  return text;
}

std::string text_of(const stack_trace& s, int frames_shown) {
  std::string text;
  for (int i = 0; i < s.count && frames_shown > 0; ++i) {
    const std::string name = without_details(names().at(s.frames[i]));
    if (name.empty() || name.starts_with("coracle::test::")) continue;
    if (name == "malloc" || name == "calloc" || name == "realloc") continue;
    text.append("      ").append(name).append("\n");
    --frames_shown;
  }
  return text;
}

void collect(int slot, int ended) {
  last_words& words = now->slots[slot];
  const std::uint64_t number = now->children[slot].number;
  now->children[slot].pid = 0;
  if (WIFEXITED(ended) && WEXITSTATUS(ended) == 0) return;
  const std::string stack = text_of(words.allocation, frames_max);
  for (const std::string& name : now->options->exceptions)
    if (stack.find(name) != stack.npos) return;
  using end = last_words::end;
  std::string description = "it ended without a word, with status " + std::to_string(ended);
  if (words.outcome == end::signal) description = std::string("signal ") + ::strsignal(words.number);
  else if (words.outcome == end::terminate) description = std::string("std::terminate ") + words.text;
  else if (words.outcome == end::hung) description = "it did not end in time";
  else if (words.outcome == end::wrong) description = std::string("the scenario: ") + words.text;
  const auto [at, added] = now->kinds.try_emplace(
      {description, text_of(words.allocation, 6), text_of(words.at_end, 5)}, now->result->broken.size());
  if (added) now->result->broken.push_back({description, std::get<1>(at->first), std::get<2>(at->first), {}});
  now->result->broken[at->second].numbers.push_back(number);
}

void wait_for_one() {
  int ended = 0;
  const pid_t pid = ::waitpid(-1, &ended, 0);
  for (int i = 0; i < at_once; ++i)
    if (now->children[i].pid == pid) return collect(i, ended);
}

[[noreturn]] void leave(last_words::end outcome, int number, const char* text) noexcept {
  counting = false;
  inside = true;
  now->mine->outcome = outcome;
  now->mine->number = number;
  std::snprintf(now->mine->text, sizeof now->mine->text, "%s", text);
  now->mine->at_end.take();
  ::_exit(outcome == last_words::end::returned ? 0 : 1);
}

void on_signal(int number) noexcept {
  leave(number == SIGALRM ? last_words::end::hung : last_words::end::signal, number, "");
}

void on_terminate() noexcept {
  const char* text = "without an exception";
  if (const std::type_info* t = abi::__cxa_current_exception_type()) text = t->name();
  leave(last_words::end::terminate, 0, text);
}

void become_child(int slot, std::uint64_t number) noexcept {
  now->mine = &now->slots[slot];
  *now->mine = last_words{};
  now->mine->allocation.take();
  static_cast<void>(number);
  static char room[64 << 10];
  const stack_t other{room, 0, sizeof room};
  ::sigaltstack(&other, nullptr);
  struct sigaction doing{};
  doing.sa_handler = on_signal;
  doing.sa_flags = SA_ONSTACK;
  for (const int s : {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGALRM}) ::sigaction(s, &doing, nullptr);
  std::set_terminate(on_terminate);
  const int nowhere = ::open("/dev/null", O_WRONLY);
  if (nowhere >= 0 && !std::getenv("CORACLE_TEST_CHILD_OUTPUT")) {
    ::dup2(nowhere, 1);
    ::dup2(nowhere, 2);
  }
  ::alarm(child_time_s);
  now->left = now->options->burst - 1;
}

// The innermost function that belongs to neither a container nor another library identifies the allocation.
bool is_of_the_simulation() noexcept {
  stack_trace s;
  s.take();
  for (int i = 0; i < s.count; ++i) {
    switch (names().kind_at(s.frames[i])) {
      case function_names::kind::simulation: return true;
      case function_names::kind::ours: return false;
      case function_names::kind::other: break;
    }
  }
  return false;
}

// Always false in the parent; true in a child where it was forked and as often as its burst says.
bool fails_here() {
  if (now->mine && now->left == 0 && now->fails_at == 0) return false;
  if (!now->options->counts() || is_of_the_simulation()) return false;
  if (now->fails_at != 0) {
    if (++now->number != now->fails_at) return false;
    now->mine->allocation.take();
    return now->mine->failed = true;
  }
  if (now->mine) return now->left-- != 0;
  if (++now->number % now->options->stride != 0) return false;
  ++now->result->failed;
  int slot = 0;
  while (true) {
    for (slot = 0; slot < at_once && now->children[slot].pid != 0; ++slot) {
    }
    if (slot < at_once) break;
    wait_for_one();
  }
  // Not fork(): its handlers would tell the library that its runtime belongs to the parent, but here it is
  // the child's own world.
  const long pid = ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid == 0) {
    become_child(slot, now->number);
    return true;
  }
  now->children[slot] = {static_cast<pid_t>(pid), now->number};
  return false;
}

bool fails() noexcept {
  if (!counting || inside) return false;
  inside = true;
  const bool is = fails_here();
  inside = false;
  if (is) errno = ENOMEM;
  return is;
}

}  // namespace

void count_allocations(bool on) noexcept { counting = on && now; }

namespace {

void prepare(run& all, const failing_options& options, allocation_failures& result) {
  all.options = &options;
  all.result = &result;
  all.slots = static_cast<last_words*>(::mmap(nullptr, at_once * sizeof(last_words), PROT_READ | PROT_WRITE,
                                              MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  stack_trace first;  // loads what backtrace() needs
  first.take();
  static_cast<void>(names());
  now = &all;
}

[[noreturn]] void leave_with(const std::string& wrong) noexcept {
  counting = false;
  if (!wrong.empty()) leave(last_words::end::wrong, 0, wrong.c_str());
  leave(last_words::end::returned, 0, "");
}

}  // namespace

allocation_failures fail_each_allocation_anew(const std::function<std::string()>& scenario,
                                              const failing_options& options) {
  allocation_failures result;
  run all;
  prepare(all, options, result);
  // What waits in real time makes a few allocations more or less.
  constexpr int ends_max = 3;
  int ends = 0;
  for (std::uint64_t n = options.stride; ends < ends_max; n += options.stride) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      become_child(0, n);
      now->fails_at = n;
      leave_with(scenario());
    }
    all.children[0] = {pid, n};
    wait_for_one();
    if (all.slots[0].failed) ++result.failed;
    ends = all.slots[0].failed ? 0 : ends + 1;
  }
  now = nullptr;
  ::munmap(all.slots, at_once * sizeof(last_words));
  return result;
}

allocation_failures fail_each_allocation(const std::function<std::string()>& scenario,
                                         const failing_options& options) {
  allocation_failures result;
  run all;
  prepare(all, options, result);
  const std::string wrong = scenario();
  counting = false;
  if (all.mine) leave_with(wrong);
  for (int i = 0; i < at_once; ++i)
    while (all.children[i].pid != 0) wait_for_one();
  now = nullptr;
  ::munmap(all.slots, at_once * sizeof(last_words));
  if (!wrong.empty()) result.broken.push_back({"without any failure, the scenario: " + wrong, {}, {}, {0}});
  return result;
}

std::string allocation_failures::report() const {
  std::string text = std::to_string(failed) + " allocations failed, each in its own process\n";
  for (const failed_children& b : broken) {
    text.append(std::to_string(b.numbers.size()))
        .append(" of them: ")
        .append(b.end)
        .append("\n    allocations");
    for (std::size_t i = 0; i < std::min<std::size_t>(b.numbers.size(), 8); ++i)
      text.append(" ").append(std::to_string(b.numbers[i]));
    text.append("; the first was made in\n").append(b.allocation);
    if (!b.stack.empty()) text.append("    and the process ended in\n").append(b.stack);
  }
  return text;
}

}  // namespace coracle::test

extern "C" {
void* malloc(std::size_t n) noexcept { return coracle::test::fails() ? nullptr : __libc_malloc(n); }
void* calloc(std::size_t count, std::size_t n) noexcept {
  return coracle::test::fails() ? nullptr : __libc_calloc(count, n);
}
void* realloc(void* p, std::size_t n) noexcept {
  return coracle::test::fails() ? nullptr : __libc_realloc(p, n);
}
void* aligned_alloc(std::size_t alignment, std::size_t n) noexcept {
  return coracle::test::fails() ? nullptr : __libc_memalign(alignment, n);
}
}
