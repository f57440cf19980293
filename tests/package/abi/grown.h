/* grown.h - included before all else: structs that may grow have nine more members. */
#define NDR_MAY_GROW unsigned long long grown[9];
#define HAS_GROWN
