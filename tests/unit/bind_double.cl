/* bind_double.cl - doubles as parameters of a generated function, for devices that have them. */
kernel void product(global double *out, double x, double2 y)
{
    out[get_global_id(0)] = x * y.x * y.y;
}
