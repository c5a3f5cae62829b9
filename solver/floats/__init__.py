"""Doubles: their values, order, intervals and programs, exact where the integers meet them."""
