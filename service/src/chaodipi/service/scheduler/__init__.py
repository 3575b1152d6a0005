"""The league scheduler: who meets whom at which board, in which order, and what the results say."""
