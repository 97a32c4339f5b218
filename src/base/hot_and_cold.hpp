// hot_and_cold: how often a function runs, where the compiler cannot know it. The attribute stands at the
// declaration, because calls that come before the definition depend on it.
#pragma once

// Runs for each call or frame: what it calls is made a part of it.
#define CORACLE_HOT [[gnu::hot, gnu::flatten]]
// Runs rarely: it is kept out of its callers, and away from what runs often.
#define CORACLE_COLD [[gnu::cold, gnu::noinline]]
