// A source of programs that link a target of grpc++ which does not exist here; the definition is the text of the target.
#ifdef CORACLE_GRPCPP_MISSING_TARGET
static_assert(false, CORACLE_GRPCPP_MISSING_TARGET);
#endif
