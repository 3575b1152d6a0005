"""Boards: everything chance and context decide, from one committed seed. Pure."""

from chaodipi.service.boards.board import Board, Secrets, plan_board, setup

__all__ = ["Board", "Secrets", "plan_board", "setup"]
