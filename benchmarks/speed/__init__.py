"""Speed and memory of single steps and of whole commands, compared with other tools and limits."""
