/* quirks.h - which faults of drivers kernels avoid: rows of src/device/quirks.c that have a cost here.
 *
 * libndr's builds define a row as 0 where the driver does not have the fault. Other builds avoid it. */
#ifndef NDR_DETAIL_QUIRKS_H
#define NDR_DETAIL_QUIRKS_H

#ifndef NDR_QUIRK_ONE_VALUE_FOR_ALL
#define NDR_QUIRK_ONE_VALUE_FOR_ALL 1
#endif

#endif
