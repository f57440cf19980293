/* sub_groups.cl - E17: which sub-group of its group an item is in, and where in it. test_seeds.c launches it. */
#include "ndr/sub_group.clh"

NDR_SUB_GROUP_KERNEL kernel void sub_groups(global int *sub_group_of, global int *place_in, global int *size_of,
                                            global int *last_id, NDR_ND_RANGE(3))
{
    const ndr_nd_item it = NDR_ND_ITEM(3);
    const ndr_sub_group sg = ndr_get_sub_group(it);
    const size_t at = ndr_global_linear_id(it);
    sub_group_of[at] = (int)ndr_group_linear_id(sg);
    place_in[at] = (int)ndr_local_id(sg, 0);
    size_of[at] = (int)ndr_local_linear_range(sg);
    last_id[at] = (int)ndr_local_id(it, 2);
}
