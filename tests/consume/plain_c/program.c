/* Calls a port where no server listens, and prints the status. */
#include <coracle.h>
#include <stdio.h>

int main(void) {
  const coracle_option options[] = {{"credentials", "insecure"}};
  coracle_channel channel = 0;
  coracle_event event = {.size = sizeof event};
  if (coracle_channel_create(0, "127.0.0.1:1", options, 1, &channel) != CORACLE_OK ||
      coracle_unary_wait(channel, "/t.Echo/Say", NULL, 0, NULL, &event) != CORACLE_OK) {
    fprintf(stderr, "%s\n", coracle_last_error());
    return 1;
  }
  printf("%s\n", coracle_status_name(event.status));
  coracle_event_release(&event);
  coracle_channel_destroy(channel);
  return 0;
}
