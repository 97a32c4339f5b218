#include "late.coracle.hpp"
#include "late.pb.h"

int main() { return shop::v1::Item().name().empty() ? 0 : 1; }
