/* bind_images.cl - an image and a sampler as parameters of a generated function. */
kernel void fetch(read_only image2d_t from, sampler_t by, global float *out)
{
    out[0] = read_imagef(from, by, (int2)(1, 0)).x;
}
