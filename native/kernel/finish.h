// From the pixels that a plan needs to the row of a batch.
#pragma once
#include "kernel/batch.h"
#include "kernel/plan.h"
#include "kernel/workspace.h"

namespace headrace {

// The part of the image that the plan needs, in coordinates of the image.
Window needed_window(const Plan& plan, Filter filter);

// Not OK where the plan's result is not of the size of the destination's rows.
Outcome check_fit(const Plan& plan, const Destination& destination);

// Resizes `pixels`, which begin at needed_window(), and lays them out in the row of image `index`.
void finish(const Plan& plan, Filter filter, const Pixels& pixels, Workspace& workspace, const Destination& destination,
            size_t index);

// Fills the row of image `index` with zeros.
void clear_row(const Destination& destination, size_t index);

}  // namespace headrace
