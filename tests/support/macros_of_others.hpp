// The names of macros that headers of systems and of widespread libraries define, so that a program may have
// them in front of ours. Here each becomes an error, whatever it is there: tests/headers.cmake compiles all
// public headers after this one. min and max are not among them: libstdc++ undefines these two itself.
#pragma once

// Apple's AssertMacros.h, and tests and assertions of many projects.
#define check(...) macro_of_others
#define check_noerr(...) macro_of_others
#define require(...) macro_of_others
#define require_noerr(...) macro_of_others
#define verify(...) macro_of_others
#define verify_noerr(...) macro_of_others

// glibc: sys/sysmacros.h, sys/param.h, complex.h, and the systems' names that GCC defines without -std=c++20.
#define howmany(...) macro_of_others
#define I macro_of_others
#define isclr(...) macro_of_others
#define isset(...) macro_of_others
#define linux macro_of_others
#define major(...) macro_of_others
#define makedev(...) macro_of_others
#define minor(...) macro_of_others
#define powerof2(...) macro_of_others
#define roundup(...) macro_of_others
#define setbit(...) macro_of_others
#define unix macro_of_others

// Short names of attributes, and macros in the style of the kernel.
#define always_inline macro_of_others
#define cold macro_of_others
#define container_of(...) macro_of_others
#define hot macro_of_others
#define likely(...) macro_of_others
#define noinline macro_of_others
#define packed macro_of_others
#define pure macro_of_others
#define unlikely(...) macro_of_others
#define unused macro_of_others
#define weak macro_of_others

// Qt.
#define emit macro_of_others
#define foreach(...) macro_of_others
#define forever macro_of_others
#define signals macro_of_others
#define slots macro_of_others

// X11/X.h and Xlib.h.
#define Above macro_of_others
#define Always macro_of_others
#define Below macro_of_others
#define Bool macro_of_others
#define Complex macro_of_others
#define Convex macro_of_others
#define CurrentTime macro_of_others
#define Expose macro_of_others
#define False macro_of_others
#define FocusIn macro_of_others
#define FocusOut macro_of_others
#define GenericEvent macro_of_others
#define KeyPress macro_of_others
#define None macro_of_others
#define Status macro_of_others
#define Success macro_of_others
#define True macro_of_others
#define Unsorted macro_of_others

// Status codes, flags and sizes that many C headers define.
#define BLOCK_SIZE macro_of_others
#define CANCELLED macro_of_others
#define DEBUG macro_of_others
#define DELETE macro_of_others
#define ERROR macro_of_others
#define FALSE macro_of_others
#define far macro_of_others
#define IN macro_of_others
#define INFO macro_of_others
#define interface macro_of_others
#define INTERNAL macro_of_others
#define near macro_of_others
#define NO_ERROR macro_of_others
#define OK macro_of_others
#define OUT macro_of_others
#define PAGE_SIZE macro_of_others
#define TRUE macro_of_others
#define UNKNOWN macro_of_others
#define WARNING macro_of_others
