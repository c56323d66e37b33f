"""Medical images: DICOM files and their frames."""
