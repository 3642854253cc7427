#define UNIT plain
#include "work.inc"
