/* cpp_checked.cpp - a part of test_cpp_exceptions that does not use exceptions. */
#include "ndr/ndr.hpp"

size_t count_devices_checked();

size_t count_devices_checked()
{
    const ndr::result<std::vector<ndr_device_info>> all = ndr::devices();
    return all ? all->size() : 0;
}
