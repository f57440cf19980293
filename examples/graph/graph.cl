/* graph.cl - a breadth-first walk. The same struct as in main.c. */

typedef struct vertex {
    global struct vertex *global *neighbours; /* `degree` of them */
    int degree;
    int distance; /* from the first vertex; -1: not reached yet */
} vertex;

/* One work-item for each vertex. Each neighbour of a vertex at distance `step` gets step + 1, unless it has a distance.
 * Several vertices may have the same neighbour: without atomics that would be a data race. */
kernel void walk_step(global vertex *vertices, int step, global int *reached)
{
    global vertex *v = vertices + get_global_id(0);
    if (v->distance != step) return;
    for (int i = 0; i < v->degree; ++i)
        if (atomic_cmpxchg((volatile global int *)&v->neighbours[i]->distance, -1, step + 1) == -1) atomic_inc(reached);
}
