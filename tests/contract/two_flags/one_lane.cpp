#define UNIT one_lane
#include "work.inc"
