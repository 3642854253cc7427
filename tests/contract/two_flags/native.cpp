#define UNIT native
#include "work.inc"
