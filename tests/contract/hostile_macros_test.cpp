// See hostile_macros.cpp: that it compiles is most of the test.
#include <doctest/doctest.h>

bool trains_among_hostile_macros();

TEST_CASE("every header compiles and works among other people's macros") { CHECK(trains_among_hostile_macros()); }
