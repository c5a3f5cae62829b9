"""IEEE doubles: their values, order, intervals and programs, exact where they meet the integers."""
