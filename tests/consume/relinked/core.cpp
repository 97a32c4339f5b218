// The names of the C core that programs use.
#include <grpc/grpc.h>
#include <grpc/support/time.h>

int main() {
  grpc_init();
  const gpr_timespec later =
      gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_seconds(1, GPR_TIMESPAN));
  grpc_shutdown();
  return gpr_time_cmp(later, gpr_now(GPR_CLOCK_REALTIME)) > 0 ? 0 : 1;
}
