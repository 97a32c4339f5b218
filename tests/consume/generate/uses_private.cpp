#if __has_include("shop/v1/item.pb.h")
#error "USAGE_REQUIREMENT PRIVATE lets the headers out"
#endif

bool is_named(const char* name);

int main() { return is_named("a paddle") ? 0 : 1; }
