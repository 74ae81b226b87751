/* Private to plant/: the tree that what goes to all follows. */
#ifndef RS_PLANT_TREE_H
#define RS_PLANT_TREE_H

#include "plant/plant.h"

/* Fills p->floods; its ports' links are known. -ENOMEM. */
int plant_tree(struct rs_plant *p, struct rs_arena *a);

#endif
