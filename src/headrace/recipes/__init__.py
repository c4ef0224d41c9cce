"""Recipes: a torchvision transform becomes data, the part that the kernel knows is fused, the rest runs in Python."""

from headrace.recipes.program import ImageProgram
from headrace.recipes.randomness import rng
from headrace.recipes.recipe import ImageRecipe, OpPlace, compile_transform
from headrace.recipes.rows import Rows

__all__ = ["ImageProgram", "ImageRecipe", "OpPlace", "Rows", "compile_transform", "rng"]
