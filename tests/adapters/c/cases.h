/* The cases of cases.c: each returns null, or what is wrong. */
#ifndef CORACLE_TEST_CASES_H
#define CORACLE_TEST_CASES_H

#ifdef __cplusplus
extern "C" {
#endif

struct test_case {
  const char* name;
  void (*run)(void);
};
extern const struct test_case test_cases[]; /* ends with a name that is null */
const char* run_test_case(const struct test_case* c);
/* Makes unary and bidirectional calls of echo.Echo at `address`, with an encoded echo.Text. */
const char* call_echo(const char* address, const char* text, unsigned long text_size);
/* Starts a server with the methods of the cases on 127.0.0.1, and returns its port, or 0. */
int start_case_server(void);
void stop_case_server(void);

#ifdef __cplusplus
}
#endif
#endif
